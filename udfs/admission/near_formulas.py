r"""Wrong answers in mathematics that look right: values, terms, sets, intervals and lists with one thing altered.

Every alteration is wrong whatever the gold means, with the exceptions that its rule names and leaves out: ``(-1)^{n+1}`` is ``(-1)^{n-1}``,
a full turn changes no angle, ``\frac{a}{b} = 1`` says what ``\frac{b}{a} = 1`` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from schemas.contract import AnswerContract
from udfs.admission.formulas import ENDLESS, Items, Piece, formula, items_of, pieces_of, spelled, value_of
from udfs.admission.near_texts import changed_characters
from udfs.admission.near_values import other_values

_WORDS = re.compile(r"(?:\\text\{)?[^\W\d_]{2,}(?:[ '\u2019.-][^\W\d_]+)*\.?\}?\Z")
_LETTER = re.compile(r"(?:\\text\{)?\(?([A-Y])\)?\}?\Z")
_SIGN = re.compile(r"(?<=[\w)}\]])\s*([+-])\s*(?=[\w(\\\[])(?!0(?![\d.]))")
_POWER = re.compile(r"(?<=[A-Za-z])\^(?:\{(\d{1,3})\}|(\d))")
_QUOTIENT = re.compile(r"\\[dt]?frac\{([^{}]{1,40})\}\{([^{}]{1,40})\}")
_NUMBER = re.compile(r"(?<![\w.,\\])\d{1,15}(?![\d]|[.,]\d)")
_RELATION = re.compile(r"[=<>\u2264\u2265\u2260]|\\(?:leq?|geq?|lt|gt|neq?|in|equiv)\b")
_PERIODIC = re.compile(r"\\pi\b|\u03c0|\\(?:sin|cos|tan|circ|equiv|pmod|bmod)\b|\(-1\)\s*\^|\^\\circ")
_BOUND = re.compile(r"\\leq?\b(?!ft)|\\geq?\b|<=|>=|[<>\u2264\u2265]")
_EMPTY = re.compile(r"\\(?:emptyset|varnothing)\Z|(?:\\left)?\\\{\s*(?:\\right)?\\\}\Z|\u2205\Z")
_STRICT = {"<": "\\le ", ">": "\\ge "}
_FLIPPED = {"(": "[", "[": "(", ")": "]", "]": ")"}
#: An item that no gold holds.
_STRANGER = "9973"


def _neighbour(item: str, seed: str) -> str:
    """Another value or word in the place of one."""
    value = value_of(item)
    if value is not None:
        return spelled(value + 1)
    if _WORDS.match(item):
        return next(changed_characters(item, seed), item + "x")
    return f"{item}+1"


def _fractions(value: Fraction) -> Iterator[str]:
    """A fraction upside down, with its sign turned, with its numerator or denominator one more."""
    top, bottom = value.numerator, value.denominator
    yield from (spelled(other) for other in (1 / value, -value, Fraction(top + 1, bottom), Fraction(top, bottom + 1)) if other != value)


def _differ(top: str, bottom: str) -> bool:
    """Whether a quotient is none of 1 and -1, so that it is another upside down; ``a-b`` over ``b-a`` is one."""
    values = value_of(top), value_of(bottom)
    if None not in values:
        return abs(values[0] or 0) != abs(values[1] or 0)
    return sorted(c for c in top if c.isalnum()) != sorted(c for c in bottom if c.isalnum())


def _terms(text: str) -> Iterator[str]:
    """A formula with an inner sign turned, an exponent one more, a quotient upside down, a number one more, its sign turned, one added."""
    related, periodic = bool(_RELATION.search(text)), bool(_PERIODIC.search(text))
    sign = None if periodic else _SIGN.search(text)
    if sign:
        yield text[: sign.start(1)] + ("-" if sign[1] == "+" else "+") + text[sign.end(1) :]
    power = _POWER.search(text)
    if power:
        yield f"{text[: power.start()]}^{{{int(power[1] or power[2]) + 1}}}{text[power.end() :]}"
    for quotient in _QUOTIENT.finditer(text):
        top, bottom = quotient.groups()
        if not related and _differ(top, bottom):
            yield f"{text[: quotient.start()]}\\frac{{{bottom}}}{{{top}}}{text[quotient.end() :]}"
            break
    numbers = [] if periodic and "^" in text else list(_NUMBER.finditer(text))
    for number in dict.fromkeys((*numbers[:1], *numbers[-1:])):
        yield text[: number.start()] + str(int(number[0]) + 1) + text[number.end() :]
    if not related and "infty" not in text and "pm" not in text:
        yield from (f"-({text})", f"{text}+1")


def _items(made: Items, contract: AnswerContract, others: Sequence[str], seed: str) -> Iterator[str]:
    """A collection with an item altered, dropped or added, and, where its order counts, with two items in each other's place."""
    items = made.items
    ordered = (contract.type == "list" and contract.ordered) or (contract.type == "expression" and made.left.endswith("("))
    # Of a set, repeated items hide what happens to one of them.
    if ("{" not in made.left and contract.type != "set") or len(set(items)) == len(items):
        turned = next((at for at in range(len(items) - 1) if items[at] != items[at + 1]), None) if ordered else None
        if turned is not None:
            yield made.spell((*items[:turned], items[turned + 1], items[turned], *items[turned + 2 :]))
        places = dict.fromkeys((0, len(items) - 1))
        yield from (made.spell((*items[:at], _neighbour(items[at], seed), *items[at + 1 :])) for at in places)
        if len(items) > 1:
            yield from (made.spell((*items[:at], *items[at + 1 :])) for at in places)
    words = all(_WORDS.match(item) for item in items)
    added = next((other for other in others if other.strip() and other not in items), "something else" if words else _STRANGER)
    yield made.spell((*items, added))


def _pieces(pieces: tuple[Piece, ...], gold: str) -> Iterator[str]:
    r"""Intervals with an end opened or closed, or moved; only ends that stand in the gold once: ``(1,2)\cup[2,3)`` has both ways at 2."""
    for at, piece in enumerate(pieces):
        for side, end in enumerate((piece.low, piece.high)):
            if not piece.bounded[side] or gold.count(end) != 1:
                continue
            flipped = Piece(_FLIPPED[piece.opened], piece.low, piece.high, piece.closed) if side == 0 else Piece(
                piece.opened, piece.low, piece.high, _FLIPPED[piece.closed]
            )  # fmt: skip
            yield "\\cup ".join(p.spell() for p in (*pieces[:at], flipped, *pieces[at + 1 :]))
            value = value_of(end)
            if value is not None:
                other = spelled(value - 1 if side == 0 else value + 1)
                moved = (
                    Piece(piece.opened, other, piece.high, piece.closed)
                    if side == 0
                    else Piece(piece.opened, piece.low, other, piece.closed)
                )
                yield "\\cup ".join(p.spell() for p in (*pieces[:at], moved, *pieces[at + 1 :]))
    if len(pieces) > 1:
        yield pieces[0].spell()
    elif not any(pieces[0].bounded):
        yield from ("(0, \\infty)", "(-\\infty, 0]")


def _inequality(text: str) -> Iterator[str]:
    """The bounds of an inequality opened or closed, one at a time, and turned round where there is but one."""
    found = list(_BOUND.finditer(text))
    for bound in found[:2]:
        strict = bound[0] in _STRICT
        less = bound[0] in ("<", "<=", "\u2264") or bound[0].startswith("\\le")
        yield text[: bound.start()] + (_STRICT[bound[0]] if strict else ("<" if less else ">")) + text[bound.end() :]
        if len(found) == 1:
            yield text[: bound.start()] + (" > " if less else " < ") + text[bound.end() :]


def _special(text: str) -> tuple[str, ...]:
    """Near misses of what has no parts: the empty set, the infinities."""
    if _EMPTY.match(text):
        return ("\\{0\\}", "\\{\\emptyset\\}", "0")
    if ENDLESS.match(text):
        return ("\\infty" if text.startswith("-") else "-\\infty", "0", "1")
    return ()


def _words(text: str, others: Sequence[str], seed: str) -> Iterator[str]:
    letter = _LETTER.match(text)
    if letter:
        yield text.replace(letter[1], chr(ord(letter[1]) + 1))
        return
    yield from others[:2]
    yield from changed_characters(text.removeprefix("\\text{").removesuffix("}"), seed)


def formulas(contract: AnswerContract, others: Sequence[str], seed: str) -> Iterator[str]:
    """Near misses of an expression, a set, an interval or a list.

    Args:
        contract: of one of these types.
        others: other answers, which must be wrong.
        seed: an id that decides which characters change.
    """
    text = formula(contract.gold)
    special = _special(text)
    if special:
        yield from special
        return
    value = value_of(text) if contract.type == "expression" else None
    if value is not None:
        if value.denominator != 1 and "." not in text:
            yield from _fractions(value)
            return
        yield from other_values(value, Fraction(str(contract.tolerance)))
        return
    if contract.type == "expression" and (_WORDS.match(text) or _LETTER.match(text)):
        yield from _words(text, others, seed)
        return
    pieces = pieces_of(text)
    # In an expression, brackets of one kind may be a pair.
    if pieces and (contract.type == "interval" or len(pieces) > 1 or "\\in" in text or pieces[0].opened + pieces[0].closed in ("(]", "[)")):
        yield from _pieces(pieces, text)
        return
    made = None if contract.type == "interval" else items_of(text, words=contract.type in ("list", "set"))
    if made is not None:
        yield from _items(made, contract, others, seed)
        return
    yield from _inequality(text)
    yield from _terms(text)
