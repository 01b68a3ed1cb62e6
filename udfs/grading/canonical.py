"""A formula as a quotient of two exact polynomials, and whether two such quotients are the same number or function."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from udfs.grading import polynomials as poly
from udfs.grading.polynomials import (
    CONSTANT,
    FACTORIAL,
    IMAGINARY,
    ONE,
    OPAQUE,
    PRIME,
    VARIABLE,
    Atom,
    Exponent,
    Monomial,
    OutOfBoundsError,
    Polynomial,
    constant,
    constant_value,
)  # fmt: skip
from udfs.grading.primaries import Node

#: Factorials up to here are computed; of larger ones only quotients of near neighbours are.
MAX_FACTORIAL = 170
MAX_NEIGHBOUR = 64

_NO_VARIABLE = frozenset({"pi", "e", "i", "infty", "emptyset"})

Ratio = tuple[Polynomial, Polynomial]


class UndefinedError(ArithmeticError):
    """The formula has no value: it divides by zero."""


def _over(num: Polynomial, den: Polynomial) -> Ratio:
    """Quotient; a denominator of one term is folded into the numerator."""
    if not den:
        raise UndefinedError("division by zero")
    return (poly.times(num, poly.power(den, -1)), ONE) if len(den) == 1 else (num, den)


def _sum(a: Ratio, b: Ratio) -> Ratio:
    if a[1] is b[1] or a[1] == b[1]:
        return poly.add(a[0], b[0]), a[1]
    return poly.add(poly.times(a[0], b[1]), poly.times(b[0], a[1])), poly.times(a[1], b[1])


def _opaque(name: str, *arguments: Ratio) -> Ratio:
    return poly.atom(OPAQUE, f"{name}({','.join(poly.spelling(n) + '/' + poly.spelling(d) for n, d in arguments)})"), ONE


def _value(a: Ratio) -> Fraction | None:
    return constant_value(a[0]) if a[1] == ONE else None


def _root_of_term(base: Polynomial, exponent: Fraction) -> Polynomial | None:
    """One term to a fractional power, where that is sound over the reals; None where it must stay opaque.

    sqrt(x^2) is |x| and sqrt(xy) is no sqrt(x)sqrt(y) for two negatives, so that only one variable to an odd power is taken apart.
    """
    ((monomial, coefficient),) = base.items()
    variables = [(key, e) for key, e in monomial if key[0] != PRIME]
    if len(variables) > 1 or (variables and coefficient < 0):
        return None
    if variables:
        ((name, power),) = variables
        if name[0] not in (VARIABLE, CONSTANT) or (name[0] == VARIABLE and not (isinstance(power, int) and power % 2)):
            return None
    sign = ONE
    if coefficient < 0:
        if exponent.denominator % 2:  # the real odd root
            sign = constant(-1 if exponent.numerator % 2 else 1)
        elif exponent.denominator == 2:
            sign = poly.power(poly.atom(IMAGINARY, "i"), exponent.numerator)
        else:
            return None
    out = poly.times(sign, poly.rational_root(abs(coefficient), exponent))
    for key, e in monomial:
        powers: Monomial = ((key, e * exponent),)
        out = poly.times(
            out, poly.times({powers: Fraction(1)}, ONE) if key[0] != PRIME else poly.rational_root(Fraction(int(key[1])), e * exponent)
        )
    return out


def _power(base: Ratio, exponent: Ratio) -> Ratio:
    n = _value(exponent)
    if n is None:
        return _opaque("pow", base, exponent)
    if n.denominator == 1:
        if n == 0 and not base[0]:
            raise UndefinedError("0^0")
        try:
            whole = int(n)
            if whole < 0:
                base, whole = _over(base[1], base[0]), -whole
            return poly.power(base[0], whole), (base[1] if base[1] == ONE else poly.power(base[1], whole))
        except OutOfBoundsError:
            return _opaque("pow", base, exponent)
    if not base[0]:
        if n < 0:
            raise UndefinedError("division by zero")
        return {}, ONE
    if base[1] == ONE and len(base[0]) == 1:
        try:
            root = _root_of_term(base[0], n)
        except OutOfBoundsError:
            root = None
        if root is not None:
            return root, ONE
    return _opaque("pow", base, exponent)


def _function(name: str, arguments: tuple[Ratio, ...]) -> Ratio:
    values = [_value(a) for a in arguments]
    first = values[0] if values else None
    if name == "root":
        degree = values[1]
        if degree is None or degree.denominator != 1 or not 2 <= degree <= 64:
            raise OutOfBoundsError("degree of a root")
        return _power(arguments[0], (constant(1 / degree), ONE))
    if name == "abs" and first is not None:
        return constant(abs(first)), ONE
    if name in ("floor", "ceil") and first is not None:
        return constant(first.__floor__() if name == "floor" else first.__ceil__()), ONE
    if name == "exp":
        return _power((poly.atom(CONSTANT, "e"), ONE), arguments[0])
    if name == "ln" and arguments[0] == (poly.atom(CONSTANT, "e"), ONE):
        return ONE, ONE
    if name == "binom":
        n, k = values
        if n is not None and k is not None and n.denominator == k.denominator == 1 and 0 <= k <= n <= 300:
            return constant(comb(int(n), int(k))), ONE
    if name in ("max", "min", "gcd", "lcm") and None not in values:
        known = [v for v in values if v is not None]
        if name in ("max", "min"):
            return constant(max(known) if name == "max" else min(known)), ONE
    return _opaque(name, *arguments)


def _factorial(a: Ratio) -> Ratio:
    n = _value(a)
    if n is None or n.denominator != 1:
        return _opaque("fact", a)
    if n < 0:
        raise UndefinedError("factorial of a negative number")
    if n <= MAX_FACTORIAL:
        return constant(factorial(int(n))), ONE
    return poly.atom(FACTORIAL, int(n)), ONE


def _symbol(name: str) -> Ratio:
    if name == "i":
        return poly.atom(IMAGINARY, "i"), ONE
    if name in ("pi", "e"):
        return poly.atom(CONSTANT, name), ONE
    if name in ("infty", "emptyset"):
        raise OutOfBoundsError("no number")
    return poly.atom(VARIABLE, name), ONE


def ratio(node: Node) -> Ratio:
    """The quotient of polynomials that a formula is.

    Raises:
        UndefinedError: it divides by zero.
        OutOfBoundsError: it is no number or function, or too large for exact arithmetic.
    """
    tag = node[0]
    if tag == "num":
        return constant(node[1]), ONE
    if tag == "sym":
        return _symbol(node[1])
    if tag == "neg":
        num, den = ratio(node[1])
        return poly.scale(num, Fraction(-1)), den
    if tag == "add":
        return _sum(ratio(node[1]), ratio(node[2]))
    if tag == "mul":
        a, b = ratio(node[1]), ratio(node[2])
        return poly.times(a[0], b[0]), (b[1] if a[1] == ONE else a[1] if b[1] == ONE else poly.times(a[1], b[1]))
    if tag == "div":
        a, b = ratio(node[1]), ratio(node[2])
        if a[1] == ONE and b[1] == ONE:
            return _over(a[0], b[0])
        return _over(poly.times(a[0], b[1]), poly.times(a[1], b[0]))
    if tag == "pow":
        return _power(ratio(node[1]), ratio(node[2]))
    if tag == "fact":
        return _factorial(ratio(node[1]))
    if tag == "fn":
        return _function(node[1], tuple(ratio(a) for a in node[2:]))
    if tag == "unit" and node[2] in ("deg", "%"):
        num, den = ratio(node[1])
        factor: Polynomial = {(((CONSTANT, "pi"), 1),): Fraction(1, 180)} if node[2] == "deg" else constant(Fraction(1, 100))
        return poly.times(num, factor), den
    raise OutOfBoundsError(f"no number: {tag}")


def _near_factorials(p: Polynomial) -> Polynomial:
    """Each n! written as (m+1) ... n m! for the smallest m in reach, so that quotients of near factorials are rationals."""
    found = sorted({int(key[1]) for monomial in p for key, _ in monomial if key[0] == FACTORIAL})
    if len(found) < 2 or found[-1] - found[0] > MAX_NEIGHBOUR:
        return p
    least: Atom = (FACTORIAL, found[0])
    out: Polynomial = {}
    for monomial, coefficient in p.items():
        term: Polynomial = {(): coefficient}
        for key, exponent in monomial:
            piece: Polynomial = {((key, exponent),): Fraction(1)}
            if key[0] == FACTORIAL and isinstance(exponent, int):
                quotient = Fraction(1)
                for k in range(found[0] + 1, int(key[1]) + 1):
                    quotient *= k
                piece = {((least, exponent),): quotient**exponent}
            term = poly.times(term, piece)
        out = poly.add(out, term)
    return out


def _independent(p: Polynomial) -> bool:
    """Whether a non-zero polynomial is a non-zero number or function for certain.

    After the common factor of its terms is divided out, only atoms may be left that satisfy no relation: roots of primes, i, variables,
    pi and e (no relation between the two is known, and none can be this short).
    """
    first, *rest = p
    least: dict[Atom, Exponent] = dict(first)
    for monomial in rest:
        powers = dict(monomial)
        least = {key: min(e, powers[key]) for key, e in least.items() if key in powers}
    return all(key[0] < FACTORIAL or (key[0] == FACTORIAL and least.get(key) == exponent) for monomial in p for key, exponent in monomial)


def difference(a: Ratio, b: Ratio) -> Polynomial:
    """Numerator of a - b."""
    if a[1] == b[1]:
        return _near_factorials(poly.add(a[0], poly.scale(b[0], Fraction(-1))))
    return _near_factorials(poly.add(poly.times(a[0], b[1]), poly.scale(poly.times(b[0], a[1]), Fraction(-1))))


def same_ratio(a: Ratio, b: Ratio) -> bool | None:
    """Whether two quotients are equal: True and False are proofs, None is undecided."""
    try:
        rest = difference(a, b)
    except OutOfBoundsError:
        return None
    if not rest:
        return True
    return False if _independent(rest) else None


def proportional(a: Polynomial, b: Polynomial) -> Fraction | None:
    """The factor c with a = c b for two polynomials without zeros; None where there is none."""
    if len(a) != len(b) or not a or a.keys() != b.keys():
        return None
    first = next(iter(a))
    factor = a[first] / b[first]
    return factor if all(a[m] == factor * b[m] for m in a) else None


def names_of(node: Node) -> frozenset[str]:
    """Names of the variables in a formula."""
    if len(node) == 2 and node[0] == "sym":
        return frozenset() if node[1] in _NO_VARIABLE else frozenset({node[1]})
    return frozenset().union(*(names_of(part) for part in node if isinstance(part, tuple)))
