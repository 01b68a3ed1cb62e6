"""Arithmetic over quoted numbers: a tokenizer and a parser of its own over exact fractions; nothing is ever eval'd."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from udfs.extract.spans import NUMBER, plain_number
from udfs.grading.numbers import MAGNITUDE, parse_quantity

#: Longest expression, its deepest nesting, and the largest numerator or denominator on the way.
MAX_LENGTH = 200
MAX_DEPTH = 16
MAX_MAGNITUDE = 10**30
#: Numbers that an expression may use although no quote holds them: small counts to divide by, and what relates units and percentages.
CONSTANTS = frozenset(map(Fraction, (2, 3, 4, 7, 10, 12, 24, 52, 60, 100, 365, 1000, 3600)))

_MAGNITUDES = "|".join(sorted(MAGNITUDE, key=lambda word: (-len(word), word)))
_QUOTED = re.compile(
    rf"(?<![\w.,])(?P<minus>(?<![^\s(])[-\u2212])?(?P<number>(?:{NUMBER})(?: ?(?:{_MAGNITUDES})\b)?)(?!\d|[.,]\d)", re.IGNORECASE
)
_WORD = re.compile(r"(?<![\w-])[A-Za-z]{3,9}(?:-[A-Za-z]{3,5})?(?![\w-])")
_TOKEN = re.compile(rf"\s*(?:(?P<number>(?:{NUMBER})(?![\d.]))|\$(?P<place>[1-9]\d?)(?!\d)|(?P<name>min|max)(?!\w)|(?P<sign>[-+*/()%,]))")
_SIGNS = str.maketrans({"\u00d7": "*", "\u00b7": "*", "\u22c5": "*", "\u00f7": "/", "\u2212": "-", "\u2013": "-"})


class ArithmeticRefusedError(ValueError):
    """An expression that is not evaluated; ``reason`` is a code: unreadable, not_quoted, undefined, too_large."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"computation_{reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Quoted:
    """A number of a text and where it stands there."""

    start: int
    end: int
    value: Fraction


@dataclass(frozen=True, slots=True)
class Computed:
    """What an expression comes to, and whether it holds any operation."""

    value: Fraction
    operations: int


def quoted_numbers(text: str, start: int = 0, end: int | None = None) -> list[Quoted]:
    """The numbers written in digits within ``text[start:end]``, in order; ``1.5 million`` is one.

    Args:
        text: the whole text, so that a number cut by ``start`` or ``end`` is seen to be cut.
        start: offset in code points.
        end: end offset, exclusive; None is the text's end.
    """
    until = len(text) if end is None else end
    found = []
    for match in _QUOTED.finditer(text, start, until):
        quantity = parse_quantity(plain_number(match["number"]))
        if quantity is not None and not quantity.unit:
            found.append(Quoted(match.start(), match.end(), -quantity.value if match["minus"] else quantity.value))
    return found


def spelled_numbers(text: str, start: int, end: int) -> list[Quoted]:
    """The number words below a hundred within ``text[start:end]``, in order."""
    found = []
    for match in _WORD.finditer(text, start, end):
        quantity = parse_quantity(match.group())
        if quantity is not None and not quantity.unit:
            found.append(Quoted(match.start(), match.end(), quantity.value))
    return found


def evaluate(expression: str, digits: Sequence[Fraction], words: Callable[[], Sequence[Fraction]] = tuple) -> Computed:
    """The value of an expression over quoted numbers.

    ``+ - * / ( )``, a percent sign behind an operand (a hundredth), ``min(a, b)`` and ``max(a, b)``. Operands are ``$1``, ``$2`` ... (the
    numbers of ``digits``, counted from 1) and literals, each equal to one of the numbers or to one of ``CONSTANTS``; at least one operand is
    a quoted number.

    Args:
        expression: by a model; at most ``MAX_LENGTH`` code points are read.
        digits: numbers of the quotes written in digits, in order.
        words: gives further numbers that literals may equal; called where one equals none in digits.

    Raises:
        ArithmeticRefusedError: it is none, uses a number that is not quoted, divides by zero, or grows too large.
    """
    parser = _Parser(_tokens(expression), digits, words)
    value = parser.sum(0)
    if parser.at < len(parser.tokens):
        raise ArithmeticRefusedError("unreadable")
    if not parser.quoted:
        raise ArithmeticRefusedError("not_quoted")
    return Computed(value, parser.operations)


def _tokens(expression: str) -> list[tuple[str, str]]:
    text = expression.translate(_SIGNS).rstrip()
    if len(text) > MAX_LENGTH:
        raise ArithmeticRefusedError("too_large")
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise ArithmeticRefusedError("unreadable")
        tokens.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return tokens


class _Parser:
    """Recursive descent: sum, product, signed, percent, operand."""

    __slots__ = ("at", "digits", "known", "operations", "quoted", "tokens", "words")

    def __init__(self, tokens: list[tuple[str, str]], digits: Sequence[Fraction], words: Callable[[], Sequence[Fraction]]) -> None:
        self.tokens, self.digits, self.words = tokens, digits, words
        self.at = self.operations = self.quoted = 0

    def sum(self, depth: int) -> Fraction:
        value = self._product(depth)
        while (sign := self._sign("+-")) is not None:
            other = self._product(depth)
            value = self._bounded(value + other if sign == "+" else value - other)
        return value

    def _product(self, depth: int) -> Fraction:
        value = self._signed(depth)
        while (sign := self._sign("*/")) is not None:
            other = self._signed(depth)
            if sign == "/" and not other:
                raise ArithmeticRefusedError("undefined")
            value = self._bounded(value * other if sign == "*" else value / other)
        return value

    def _signed(self, depth: int) -> Fraction:
        if depth > MAX_DEPTH:
            raise ArithmeticRefusedError("too_large")
        if self._take("sign", "-"):
            return -self._signed(depth + 1)
        value = self._operand(depth)
        while self._take("sign", "%"):
            self.operations += 1
            value /= 100
        return value

    def _operand(self, depth: int) -> Fraction:
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        self.at += 1
        if kind == "number":
            return self._literal(text)
        if kind == "place":
            if int(text) > len(self.digits):
                raise ArithmeticRefusedError("not_quoted")
            self.quoted += 1
            return self.digits[int(text) - 1]
        if kind == "name":
            return self._least_or_largest(text, depth)
        if (kind, text) != ("sign", "("):
            raise ArithmeticRefusedError("unreadable")
        value = self.sum(depth + 1)
        self._expect(")")
        return value

    def _literal(self, text: str) -> Fraction:
        quantity = parse_quantity(plain_number(text))
        if quantity is None:
            raise ArithmeticRefusedError("unreadable")
        if quantity.value in self.digits or quantity.value in self.words():
            self.quoted += 1
        elif quantity.value not in CONSTANTS:
            raise ArithmeticRefusedError("not_quoted")
        return quantity.value

    def _least_or_largest(self, name: str, depth: int) -> Fraction:
        self._expect("(")
        values = [self.sum(depth + 1)]
        while self._take("sign", ","):
            values.append(self.sum(depth + 1))
        self._expect(")")
        if len(values) < 2:
            raise ArithmeticRefusedError("unreadable")
        self.operations += 1
        return min(values) if name == "min" else max(values)

    def _sign(self, signs: str) -> str | None:
        kind, text = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        if kind != "sign" or text not in signs:
            return None
        self.at += 1
        self.operations += 1
        return text

    def _take(self, kind: str, text: str) -> bool:
        taken = self.at < len(self.tokens) and self.tokens[self.at] == (kind, text)
        self.at += taken
        return taken

    def _expect(self, sign: str) -> None:
        if not self._take("sign", sign):
            raise ArithmeticRefusedError("unreadable")

    def _bounded(self, value: Fraction) -> Fraction:
        if max(abs(value.numerator), value.denominator) > MAX_MAGNITUDE:
            raise ArithmeticRefusedError("too_large")
        return value
