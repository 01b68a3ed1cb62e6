"""Exact polynomials over rationals in roots of primes, constants, variables and opaque atoms.

A polynomial is a dictionary from monomials to rational coefficients; a monomial is a sorted row of (atom, exponent) with exponents that
may be fractions. Reductions at every product: the whole part of a prime's exponent moves into the coefficient (so that square roots of
primes stand for themselves and products of distinct roots are linearly independent over the rationals, Besicovitch 1940), i^2 = -1.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

#: (rank, name). Ranks: 0 a prime under a root, 1 i, 2 pi and e, 3 a variable, 4 a factorial, 5 anything opaque.
Atom = tuple[int, int | str]
Exponent = int | Fraction
Monomial = tuple[tuple[Atom, Exponent], ...]
Polynomial = dict[Monomial, Fraction]

PRIME, IMAGINARY, CONSTANT, VARIABLE, FACTORIAL, OPAQUE = range(6)
#: Bounds of one polynomial: terms, bits of a coefficient, bits of all of them, and an exponent.
MAX_TERMS = 200
MAX_BITS = 8192
MAX_SIZE = 65_536
MAX_DEGREE = 10**6

ONE: Polynomial = {(): Fraction(1)}
_I: Atom = (IMAGINARY, "i")


class OutOfBoundsError(ArithmeticError):
    """A step would exceed the bounds of exact arithmetic."""


def bits(value: Fraction) -> int:
    """Bits of the larger of numerator and denominator."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def constant(value: Fraction | int) -> Polynomial:
    """A polynomial without atoms; zero is the empty one."""
    return {(): Fraction(value)} if value else {}


def atom(rank: int, name: int | str) -> Polynomial:
    """One atom."""
    return {(((rank, name), 1),): Fraction(1)}


def constant_value(p: Polynomial) -> Fraction | None:
    """The rational that a polynomial is; None where it has atoms."""
    if not p:
        return Fraction(0)
    return p[()] if len(p) == 1 and () in p else None


def add(a: Polynomial, b: Polynomial) -> Polynomial:
    """Sum."""
    out = dict(a)
    for monomial, coefficient in b.items():
        total = out.get(monomial, 0) + coefficient
        if total:
            out[monomial] = Fraction(total)
        else:
            del out[monomial]
    if len(out) > MAX_TERMS:
        raise OutOfBoundsError("terms")
    return out


def scale(a: Polynomial, factor: Fraction) -> Polynomial:
    """Product with a rational."""
    return {monomial: coefficient * factor for monomial, coefficient in a.items()} if factor else {}


def _reduced(powers: dict[Atom, Exponent], coefficient: Fraction) -> tuple[Monomial, Fraction]:
    """A monomial in normal form, with what its primes and i give to the coefficient."""
    kept: list[tuple[Atom, Exponent]] = []
    for key, raised in powers.items():
        exponent: Exponent = raised.numerator if isinstance(raised, Fraction) and raised.denominator == 1 else raised
        if abs(Fraction(exponent)) > MAX_DEGREE:
            raise OutOfBoundsError("exponent")
        if key[0] == PRIME and isinstance(key[1], int):
            whole = exponent.numerator // exponent.denominator
            if abs(whole) * key[1].bit_length() > MAX_BITS:
                raise OutOfBoundsError("coefficient")
            coefficient *= Fraction(key[1]) ** whole
            exponent -= whole
        elif key == _I and isinstance(exponent, int):
            turn = exponent % 4
            coefficient *= -1 if turn >= 2 else 1
            exponent = turn % 2
        if exponent:
            kept.append((key, exponent))
    if bits(coefficient) > MAX_BITS:
        raise OutOfBoundsError("coefficient")
    return tuple(sorted(kept)), coefficient


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """Product."""
    if len(a) * len(b) > 4 * MAX_TERMS:
        raise OutOfBoundsError("terms")
    out: Polynomial = {}
    for left, c in a.items():
        for right, d in b.items():
            if not left or not right:
                monomial, coefficient = left or right, c * d
                if bits(coefficient) > MAX_BITS:
                    raise OutOfBoundsError("coefficient")
            else:
                powers: dict[Atom, Exponent] = dict(left)
                for key, exponent in right:
                    powers[key] = powers.get(key, 0) + exponent
                monomial, coefficient = _reduced(powers, c * d)
            total = out.get(monomial, 0) + coefficient
            if total:
                out[monomial] = Fraction(total)
            else:
                out.pop(monomial, None)
    if len(out) > MAX_TERMS or (len(out) > 8 and sum(bits(c) for c in out.values()) > MAX_SIZE):
        raise OutOfBoundsError("terms")
    return out


def power(a: Polynomial, n: int) -> Polynomial:
    """a^n for n >= 0, or any n of a single term."""
    if len(a) == 1:
        ((monomial, coefficient),) = a.items()
        if bits(coefficient) * abs(n) > MAX_BITS and abs(coefficient) != 1:
            raise OutOfBoundsError("coefficient")
        reduced, factor = _reduced({key: exponent * n for key, exponent in monomial}, Fraction(1))
        return {reduced: coefficient**n * factor}
    if n < 0 or n > 64:
        raise OutOfBoundsError("power")
    out = ONE
    for _ in range(n):
        out = times(out, a)
    return out


@lru_cache(maxsize=1)
def _primes() -> tuple[int, ...]:
    """Primes below 10^4."""
    sieve = bytearray([1]) * 10_000
    sieve[0:2] = b"\0\0"
    for p in range(2, 101):
        if sieve[p]:
            sieve[p * p :: p] = bytes(len(range(p * p, 10_000, p)))
    return tuple(i for i, flag in enumerate(sieve) if flag)


@lru_cache(maxsize=4096)
def factorise(n: int) -> tuple[tuple[int, int], ...]:
    """Prime factors of n > 0 with their exponents, by trial division below 10^4.

    Raises:
        OutOfBoundsError: what is left after that is 10^8 or more, so that it need not be a prime.
    """
    found = []
    for p in _primes():
        if p * p > n:
            break
        count = 0
        while n % p == 0:
            n //= p
            count += 1
        if count:
            found.append((p, count))
    if n >= 10**8:
        raise OutOfBoundsError("factors")
    if n > 1:
        found.append((n, 1))
    return tuple(found)


def rational_root(value: Fraction, exponent: Fraction) -> Polynomial:
    """value^exponent for a positive rational: primes with fractional exponents."""
    if bits(value) > 400:
        raise OutOfBoundsError("root")
    powers: dict[Atom, Exponent] = {}
    for n, sign in ((value.numerator, 1), (value.denominator, -1)):
        for p, count in factorise(n):
            powers[PRIME, p] = powers.get((PRIME, p), 0) + sign * count * exponent
    monomial, coefficient = _reduced(powers, Fraction(1))
    return {monomial: coefficient}


def spelling(p: Polynomial) -> str:
    """One text for a polynomial, for keys of opaque atoms."""
    return ";".join(f"{coefficient}*{monomial}" for monomial, coefficient in sorted(p.items(), key=lambda item: repr(item[0])))
