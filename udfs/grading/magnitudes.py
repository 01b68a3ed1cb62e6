"""How large a number is, by its logarithm alone: enough to tell 9^(9^9) from 5 without working either out."""

from __future__ import annotations

import math

from udfs.grading.primaries import Node
from udfs.grading.scalars import rational

#: Logarithms are floats: relative differences below this prove nothing.
SLACK = 1e-9
#: Logarithms that differ by more than this: the smaller term of a sum does not count.
_DOMINATES = 50.0


def _value(node: Node) -> float | None:
    """The number itself as a float, infinite where it is beyond one; None where it is unknown or negative."""
    logarithm = log_of(node)
    if logarithm is None:
        exact = rational(node)
        return None if exact is None or exact < 0 else 0.0
    return math.exp(logarithm) if logarithm < 700 else math.inf


def _log_of_function(node: Node) -> float | None:
    arguments = [log_of(part) for part in node[2:]]
    if node[1] == "root" and None not in arguments and arguments[0] is not None:
        degree = rational(node[3])
        return arguments[0] / float(degree) if degree else None
    if node[1] == "binom":
        n, k = _value(node[2]), _value(node[3])
        if n is None or k is None or not k <= n < 1e15:
            return None
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return None


def _log_of_power(base: Node, exponent: Node) -> float | None:
    logarithm = log_of(base)
    negative = exponent[0] == "neg"
    raised = _value(exponent[1] if negative else exponent)
    if logarithm is None or raised is None:
        return None
    if raised == math.inf and logarithm == 0:
        return None
    product = logarithm * raised
    return -product if negative else product


def _log_of_sum(left: Node, right: Node) -> float | None:
    minus = right[0] == "neg"
    a, b = log_of(left), log_of(right[1] if minus else right)
    if a is None or b is None:
        return None
    if a - b > _DOMINATES:
        return a
    if minus or math.inf in (a, b):
        return None
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def log_of(node: Node) -> float | None:
    """Natural logarithm of a positive number; infinite where that is beyond a float, None where it is unknown.

    Args:
        node: a formula without variables.
    """
    exact = rational(node)
    if exact is not None:
        return math.log(exact.numerator) - math.log(exact.denominator) if exact > 0 else None
    tag = node[0]
    if tag == "pow":
        return _log_of_power(node[1], node[2])
    if tag == "fact":
        n = _value(node[1])
        return None if n is None else math.lgamma(n + 1) if n < 1e300 else math.inf
    if tag == "fn":
        return _log_of_function(node)
    if tag == "add":
        return _log_of_sum(node[1], node[2])
    if tag in ("mul", "div"):
        a, b = log_of(node[1]), log_of(node[2])
        if a is None or b is None or math.inf in (abs(a), abs(b)):
            return None
        return a + b if tag == "mul" else a - b
    return {("sym", "pi"): math.log(math.pi), ("sym", "e"): 1.0}.get(node)


def differ(a: Node, b: Node) -> bool:
    """Whether two positive numbers are certainly different because one is larger by orders."""
    left, right = log_of(a), log_of(b)
    if left is None or right is None or (left == right and math.isinf(left)):
        return False
    if math.isinf(left) or math.isinf(right):
        return True
    return abs(left - right) > SLACK * max(1.0, abs(left), abs(right))
