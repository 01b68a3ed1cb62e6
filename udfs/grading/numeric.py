"""Formulas evaluated to sixty digits at a few points: what differs there is different, what agrees is the same function.

Only where exact arithmetic could not decide. Agreement counts as a proof only for formulas whose literals are short and whose
intermediate values are neither huge nor tiny, so that no short perturbation hides below the last digit; steps and rounding are excluded.
mpmath is loaded at the first use.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

from udfs.grading.canonical import names_of
from udfs.grading.primaries import Node

DIGITS = 60
#: Values are equal where they agree to so many digits of the largest value on the way.
AGREE = 36
#: Beyond these magnitudes agreement proves nothing, and evaluation ends.
LARGEST, HUGE = 20, 400
#: Longest literal with which agreement proves something.
MAX_LITERAL = 10**12
_FEWEST = 3
# Values for the variables in alphabetical order: no relation among them is simple; some negative, some whole.
_REAL = ("1.3717421", "0.6180339", "2.2360679", "0.3183098", "1.7320508", "3.1622776", "0.5772156", "1.2020569")
_POINTS = ("++++++++", "+-+-+-+-", "-+-+-+-+", "--------", "hhhhhhhh", "nnnnnnnn", "mmmmmmmm", "oooooooo")


class NoValueError(ArithmeticError):
    """The formula has no value at this point, or one out of bounds."""


_LOCAL = threading.local()


def _context() -> Any:
    """The context of this thread: mpmath changes its precision on the way."""
    context = getattr(_LOCAL, "context", None)
    if context is None:
        from mpmath import MPContext  # type: ignore[import-untyped] # it ships no types

        context = _LOCAL.context = MPContext()
        context.dps = DIGITS
    return context


class _Evaluation:
    """One evaluation: its context, the values of its variables, and the magnitudes it met."""

    __slots__ = ("big", "mp", "small", "steps", "values")

    def __init__(self, values: dict[str, Any]) -> None:
        self.mp, self.values, self.steps = _context(), values, False
        self.big = self.small = self.mp.mpf(1)

    def note(self, value: Any) -> Any:
        size = abs(value)
        if not self.mp.isfinite(value) or size > self.mp.mpf(10) ** HUGE:
            raise NoValueError("out of bounds")
        self.big = max(self.big, size)
        if size:
            self.small = min(self.small, size)
        return value

    def of(self, node: Node) -> Any:
        tag = node[0]
        if tag == "num":
            return self.note(self.mp.mpf(node[1].numerator) / node[1].denominator)
        if tag == "sym":
            return self._symbol(node[1])
        if tag == "fn":
            return self.note(self._function(node[1], [self.of(a) for a in node[2:]]))
        if tag == "unit":
            factor = {"deg": self.mp.pi / 180, "%": self.mp.mpf(1) / 100}.get(node[2])
            if factor is None:
                raise NoValueError("unit")
            return self.of(node[1]) * factor
        if tag in ("neg", "fact"):
            value = self.of(node[1])
            return -value if tag == "neg" else self.note(self._factorial(value))
        if tag in ("add", "mul", "div", "pow"):
            return self.note(self._binary(tag, self.of(node[1]), self.of(node[2])))
        raise NoValueError(tag)

    def _symbol(self, name: str) -> Any:
        known = {"pi": self.mp.pi, "e": self.mp.e, "i": self.mp.j}
        if name in known:
            return +known[name]
        if name not in self.values:
            raise NoValueError(name)
        return self.values[name]

    def _binary(self, tag: str, a: Any, b: Any) -> Any:
        if tag == "add":
            return a + b
        if tag == "mul":
            return a * b
        if tag == "div":
            if not b:
                raise NoValueError("division by zero")
            return a / b
        if not a or abs(b) > 10**4 or (abs(b) * abs(self.mp.log(abs(a))) > HUGE * 3):
            if not a and self.mp.re(b) > 0:
                return a * 0
            raise NoValueError("power")
        return self._real(a**b)

    def _real(self, value: Any) -> Any:
        """Without an imaginary part that is rounding alone."""
        if isinstance(value, self.mp.mpc) and abs(value.imag) <= abs(value.real) * self.mp.mpf(10) ** (6 - DIGITS):
            return value.real
        return value

    def _factorial(self, value: Any) -> Any:
        if isinstance(value, self.mp.mpc) or not 0 <= value <= 200:
            raise NoValueError("factorial")
        return self.mp.factorial(value)

    def _function(self, name: str, arguments: list[Any]) -> Any:
        mp, x = self.mp, arguments[0]
        if name == "root":
            degree = arguments[1]
            if degree % 2 and not isinstance(x, mp.mpc) and x < 0:
                return -mp.root(-x, int(degree))
            return mp.root(x, int(degree)) if 2 <= degree <= 64 and degree == int(degree) else self._refuse(name)
        if name == "binom":
            return mp.binomial(*arguments) if all(abs(a) <= 300 for a in arguments) else self._refuse(name)
        if name in ("floor", "ceil", "max", "min"):
            self.steps = True
            return {"floor": mp.floor, "ceil": mp.ceil, "max": max, "min": min}[name](*arguments)
        if name == "abs":
            return abs(x)
        if name == "log":  # base 10 here, base e there: agreement counts only where it holds for any base
            return mp.log(x) * mp.mpf("0.7390851") if x else self._refuse(name)
        function = {
            "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "cot": mp.cot, "sec": mp.sec, "csc": mp.csc, "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan,
            "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "ln": mp.log, "exp": mp.exp,
        }.get(name)  # fmt: skip
        if function is None or len(arguments) != 1 or abs(x) > 10**6 or (name in ("exp", "sinh", "cosh") and abs(x) > 500):
            return self._refuse(name)
        return self._real(function(x))

    def _refuse(self, name: str) -> Any:
        raise NoValueError(name)


def _literals_are_short(node: Node) -> bool:
    if len(node) == 2 and node[0] == "num":
        value: Fraction = node[1]
        return max(abs(value.numerator), value.denominator) <= MAX_LITERAL
    return all(_literals_are_short(part) for part in node if isinstance(part, tuple))


def _points(names: list[str]) -> list[dict[str, Any]]:
    mp = _context()
    if not names:
        return [{}]
    points = []
    for pattern in _POINTS:
        values = {}
        for k, name in enumerate(names):
            sign, text = pattern[k % 8], _REAL[k % 8]
            whole = {"n": k + 2, "m": 2 * k + 3, "o": 3 * k + 1}.get(sign)
            number = mp.mpf(whole) if whole else mp.mpf(text) / (3 if sign == "h" else 1) + (k // 8)
            values[name] = -number if sign == "-" else number
        points.append(values)
    return points


def _at(a: Node, b: Node, values: dict[str, Any], *, real: bool) -> tuple[bool, bool] | None:
    """(agree, provable) at one point; None where the gold has no (real) value there."""
    mp = _context()
    here = _Evaluation(values)
    try:
        x = here.of(a)
    except (ArithmeticError, ValueError, TypeError):
        return None
    if real and isinstance(x, mp.mpc):
        return None
    try:
        y = here.of(b)
    except NoValueError:
        return None
    except (ArithmeticError, ValueError, TypeError):
        return None
    ten = mp.mpf(10)
    provable = not here.steps and here.big <= ten**LARGEST and here.small >= ten**-LARGEST
    return abs(x - y) <= here.big * ten**-AGREE, provable


def same_function(gold: Node, answer: Node) -> bool | None:
    """Whether two formulas are the same number, or the same function on the real domain of the first.

    Args:
        gold: its real domain decides where they are compared, unless it names i.
        answer: the other one.

    Returns:
        True where all points agree and agreement proves something, False where one differs, None where neither is known.
    """
    names = sorted(names_of(gold) | names_of(answer))
    if len(names) > 16:
        return None
    found = [_at(gold, answer, point, real=not _names_i(gold)) for point in _points(names)]
    known = [pair for pair in found if pair is not None]
    if any(not agree for agree, _ in known):
        return False
    enough = len(known) >= (_FEWEST if names else 1)
    short = _literals_are_short(gold) and _literals_are_short(answer)
    return True if enough and short and all(provable for _, provable in known) else None


def _names_i(node: Node) -> bool:
    return node == ("sym", "i") or any(_names_i(part) for part in node if isinstance(part, tuple))


def value_of(node: Node) -> Any | None:
    """The real value of a formula without variables, to sixty digits; None where it has none."""
    try:
        value = _Evaluation({}).of(node)
    except (ArithmeticError, ValueError, TypeError):
        return None
    return None if isinstance(value, _context().mpc) else value


def within(gold: Node, answer: Node, tolerance: Fraction) -> bool:
    """Whether two real numbers differ by no more than a tolerance."""
    a, b = value_of(gold), value_of(answer)
    return a is not None and b is not None and bool(abs(a - b) * tolerance.denominator <= tolerance.numerator)
