"""A gold in other words: what a sound contract must accept."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from fractions import Fraction

from schemas.contract import AnswerContract
from udfs.admission.formulas import encloses, formula, items_of, pieces_of, value_of
from udfs.admission.near_values import places_of, plain
from udfs.grading.dates import parse_date
from udfs.grading.maths import TYPES
from udfs.grading.numbers import parse_quantity
from udfs.grading.texts import is_code_like
from udfs.grading.units import canonical_unit, words_for

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: Number words; the grader reads those below a hundred, and these stand for them.
_SPELLED = {
    1: "one",
    2: "two",
    3: "three",
    5: "five",
    8: "eight",
    11: "eleven",
    12: "twelve",
    13: "thirteen",
    19: "nineteen",
    20: "twenty",
    40: "forty",
}
#: Sentences and marks around an answer.
_AROUND = (
    "The answer is {}.",
    "The final answer is **{}**.",
    "It is {}.",
    "**{}**",
    "**Answer:** {}",
    "<think>\nLet me see.\n</think>\n{}",
    "```\n{}\n```",
)


def rewritings(contract: AnswerContract) -> tuple[str, ...]:
    """The gold in the commonest other spellings: a dozen at most, cheap to try.

    Args:
        contract: number (with unit, with a decimal zero), date (three formats), text (quoted, with other white space and case where it is no
            code), choice (letter forms and the option's text) or mathematics (boxed, between dollar signs).
    """
    gold = contract.gold
    made = [gold, f"Answer: {gold}", f"  {gold} "]
    if contract.type == "number":
        if gold.isdecimal() and gold.isascii() and len(gold) < 100:
            made += [f"{int(gold):,}", f"{gold}.0"]
        if contract.unit and gold[-1:].isdigit():
            made.append(f"{gold} {contract.unit}")
    elif contract.type == "date":
        iso = parse_date(gold)
        made += [iso] if iso else []
        if iso and len(iso) == 10 and iso[0] != "-":
            year, month, day = iso.split("-")
            made += [f"{int(day)} {_MONTHS[int(month) - 1]} {year}", f"{_MONTHS[int(month) - 1]} {int(day)}, {year}"]
    elif contract.type == "choice":
        made += [f"({gold})", f"{gold}."]
        option = _option(contract)
        if option is not None:
            made += [f"{gold}. {option}", option]
    elif contract.type in TYPES:  # case carries meaning
        made += [f"\\boxed{{{gold}}}", f"${gold}$."]
    else:
        if gold[-1:] not in ".,":  # punctuation after code, none of it within
            made.append(f"`{gold}`")
        if not is_code_like(gold):
            # Capitals of a Turkish dotless i are those of another letter: no rewriting where folding does not lead back.
            made += [text for text in (gold.upper(), gold.lower()) if text.casefold() == gold.casefold()]
            made.append(f"\u201c{gold}\u201d")
    return tuple(dict.fromkeys(made))


def _option(contract: AnswerContract) -> str | None:
    """Text of the option that is right."""
    at = ord(contract.gold) - 65 if len(contract.gold) == 1 else -1
    return contract.options[at] if 0 <= at < len(contract.options) else None


def paraphrases(contract: AnswerContract) -> tuple[str, ...]:
    r"""The gold in sentences and marks, and in the rarer spellings of its type; all are right whatever the question.

    Args:
        contract: the contract. Mathematics by notation: ``\dfrac``, ``\left``, exact decimals, permuted sets, inequalities for intervals.
    """
    gold = contract.gold
    marks = () if "\n" in gold or "`" in gold or "*" in gold else _AROUND
    open_end = gold[-1:] not in ",;:"
    made = [around.replace("{}", gold) for around in marks if open_end or not around.endswith("{}.")]
    made.append(json.dumps({"answer": gold}, ensure_ascii=False))
    if contract.type == "number":
        made += _numbers(contract)
    elif contract.type == "date":
        made += _dates(gold)
    elif contract.type == "choice":
        made += _choices(contract)
    elif contract.type in TYPES:
        made += _formulas(contract)
    else:
        made += [
            f"{gold}." if open_end else gold,
            gold.replace(" ", "\u00a0"),
            gold.replace("'", "\u2019") if not is_code_like(gold) else gold,
        ]
    known = set(rewritings(contract))
    return tuple(text for text in dict.fromkeys(made) if text not in known)


def _numbers(contract: AnswerContract) -> Iterator[str]:
    """Said to be about so much, full width, typographic minus, grouped as languages group it, in words, as a decimal, a fraction or with its unit in words."""
    quantity = parse_quantity(contract.gold)
    if quantity is None:
        return
    value, unit = quantity.value, contract.unit or quantity.unit
    yield from (f"about {contract.gold}", f"approximately {contract.gold}", f"It is about {contract.gold}.")
    whole = value.denominator == 1 and abs(value) < 10**12
    digits = plain(value, places_of(value))
    exact = Fraction(digits) == value
    if exact:
        yield digits.translate({ord(str(n)): 0xFF10 + n for n in range(10)})
        yield digits.replace("-", "\u2212")
        yield f"{digits}0" if "." in digits else f"{digits}.00"
    if whole and abs(value) >= 10_000:
        grouped = f"{int(value):,}"
        yield from (grouped.replace(",", sign) for sign in (" ", "\u202f", "\u00a0", "'"))
        if abs(value) >= 10**6:  # one group after a point would be decimals
            yield grouped.replace(",", ".")
    if whole and int(value) in _SPELLED:
        yield _SPELLED[int(value)]
    if exact and value.denominator > 1:
        yield f"{value.numerator}/{value.denominator}"
    if unit and exact:
        yield from (f"{digits} {word}" for word in words_for(unit)[:2])
        if canonical_unit(unit) == "%":
            yield plain(value / 100, places_of(value / 100))


def _dates(gold: str) -> Iterator[str]:
    """Ordinals, short months, the weekday, slashes with the year first, prepositions, eras."""
    iso = parse_date(gold)
    if iso is None:
        return
    parts = iso.split("-")
    if len(parts) == 3 and parts[0]:
        day = dt.date.fromisoformat(iso)
        month, short = _MONTHS[day.month - 1], _MONTHS[day.month - 1][:3]
        ending = "th" if 10 < day.day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
        year = parts[0].lstrip("0").rjust(3, "0")
        yield from (f"{day.day}{ending} {month} {year}", f"the {day.day}{ending} of {month} {year}", f"{month} {day.day}{ending}, {year}")
        yield from (
            f"{day.day} {short} {year}",
            f"{short}. {day.day}, {year}",
            f"on {day.day} {month} {year}",
            f"{parts[0]}/{parts[1]}/{parts[2]}",
        )
        yield f"{_DAYS[day.weekday()]}, {day.day} {month} {year}"
    elif len(parts) == 2 and parts[0]:
        month = _MONTHS[int(parts[1]) - 1]
        yield from (f"{month} {parts[0]}", f"{month}, {parts[0]}", f"in {month} {parts[0]}", f"{month[:3]} {parts[0]}")
    elif len(parts) == 1:
        yield from (f"in {int(iso)}", f"the year {int(iso)}", f"AD {int(iso)}", f"{int(iso)} CE")
    elif len(parts) == 2:
        yield from (f"{int(parts[1])} BC", f"{int(parts[1])} BCE", f"{int(parts[1])} B.C.")


def _choices(contract: AnswerContract) -> Iterator[str]:
    """Letters as they are marked, and the letter with the text that goes with it."""
    gold, option = contract.gold, _option(contract)
    yield from (gold.lower(), f"{gold})", f"[{gold}]", f"Option {gold}", f"option {gold}.")
    if option is not None and "\n" not in option:
        yield from (
            f"{gold}) {option}",
            f"({gold}) {option}",
            f"{gold}: {option}",
            f"{gold} ({option})",
            f"**{gold}. {option}**",
            f"The answer is {gold}. {option}",
        )


def _formulas(contract: AnswerContract) -> Iterator[str]:
    """Notation that means the same."""
    gold, text = contract.gold, formula(contract.gold)
    yield from (f"{text}.", f"\\({text}\\)", f"\\[{text}\\]", f"$$ {text} $$", f"The answer is $\\boxed{{{text}}}$.")
    if "\\frac{" in text:
        yield from (text.replace("\\frac{", "\\dfrac{"), text.replace("\\frac{", "\\tfrac{"))
    if "\\left" not in text and text[:1] in "([" and encloses(text):
        yield f"\\left{text[:-1]}\\right{text[-1]}"
    if text.startswith("\\{") and text.endswith("\\}") and encloses(text):
        yield f"\\left{text[:-2]}\\right\\}}"
    value = value_of(text) if contract.type == "expression" else None
    if value is not None:
        yield from _values(value)
    pieces = pieces_of(text) if contract.type == "interval" else None
    if pieces is not None and len(pieces) == 1:
        piece = pieces[0]
        low, high = piece.bounded
        above = "<" if piece.opened == "(" else "\\le "
        below = "<" if piece.closed == ")" else "\\le "
        if low or high:
            yield f"{piece.low}{above}x" * low + ("x" if not low else "") + f"{below}{piece.high}" * high
    made = items_of(gold, words=True) if contract.type == "set" or (contract.type == "list" and not contract.ordered) else None
    if made is not None and len(made.items) > 1:
        yield from (made.spell(reversed(made.items)), made.spell((*made.items[1:], made.items[0])))
        if contract.type == "set":
            yield made.spell((*made.items, made.items[0]))


def _values(value: Fraction) -> Iterator[str]:
    """A value as a plain and a LaTeX fraction, not reduced, and as a decimal where that is exact."""
    if value.denominator > 1:
        top, bottom = abs(value.numerator), value.denominator
        sign = "-" if value < 0 else ""
        yield from (f"{sign}{top}/{bottom}", f"{sign}\\frac{{{top}}}{{{bottom}}}", f"{sign}\\frac{{{2 * top}}}{{{2 * bottom}}}")
    digits = plain(value, places_of(value))
    if Fraction(digits) == value:
        yield from (digits, f"{digits}0" if "." in digits else f"{digits}.0")
