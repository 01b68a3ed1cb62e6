"""Numbers as people write them, read exactly."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from udfs.grading.characters import DASHES, SUPERSCRIPT, SUPERSCRIPTS, VULGAR
from udfs.grading.units import canonical_unit, is_known_unit, relate

#: Longest digit run and largest exponent that are read: more is no answer, and exact arithmetic must stay cheap.
MAX_DIGITS = 120
MAX_EXPONENT = 400

_SIGNS = str.maketrans(DASHES | dict.fromkeys("\ufe63\uff0d", "-") | {"\u2044": "/", "\u00d7": "x", "\u22c5": "x", "\u00b7": "x"})
_LATEX = (("\\times", "x"), ("\\cdot", "x"), ("\\%", "%"), ("\\$", "$"), ("\\,", ""), ("\\!", ""), ("\\;", " "), ("\\ ", " "), ("{,}", ","))
_FRAC = re.compile(r"\\[dt]?frac\{?(\d{1,120})\}?\{?(\d{1,120})\}?")
_TEXT = re.compile(r"\\(?:text|mathrm)\{([^{}]{0,80})\}")

_NUMBER = re.compile(
    r"""(?<![\w.,])(?P<sign>[-+][ ]?)?(?P<currency>(?:US|A|C)?[$\u20ac\u00a3\u00a5][ ]?)?(?P<sign2>[-+])?
    (?:(?P<whole>\d+)[ ]+(?P<num>\d+)/(?P<den>\d+)(?![\d/])
      |(?P<top>\d+)[ ]?/[ ]?(?P<bottom>\d+)(?![\d/]|\.\d)
      |10[ ]?(?:\^|\*\*)[ ]?\{?(?P<power>[-+]?\d+)\}?
      |(?P<digits>\d{1,3}(?P<sep>[,_' ])\d{3}(?:(?P=sep)\d{3})*(?!\d)(?:\.\d+)?    # 1,234,567.8
         |\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?                                  # 12,34,567
         |\d{1,3}(?:\.\d{3})+,\d+ | \d{1,3}(?:\.\d{3}){2,}(?!\d)                    # 1.234,5 and 1.234.567
         |\d+(?:\.\d*)? | \.\d+)
       (?:[eE](?P<exp>[-+]?\d+)(?!\w)|[ ]?[x*][ ]?10[ ]?(?:\^|\*\*)[ ]?\{?(?P<exp10>[-+]?\d+)\}?)?
    )""",
    re.VERBOSE,
)
_SIMPLE = re.compile(r"[-+]?[0-9]{1,40}(?:\.[0-9]{1,40})?\Z")
_STRAY_DIGIT = re.compile(r"(?<![A-Za-z^])\d")
NOT_PLAIN = frozenset(
    "not no never less more fewer over under below above than least most before after between except neither isn't aren't wasn't or sqrt log".split()  # noqa: SIM905 - a list of words reads better as words
)
MAGNITUDE = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mn": 6, "bn": 9}
_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()  # noqa: SIM905 - as above
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905 - as above
_WORD_VALUES = {w: n for n, w in enumerate(_ONES)} | {w: 10 * n for n, w in enumerate(_TENS, 2)}
_WORD_VALUES |= {f"{t}-{o}": 10 * n + k for n, t in enumerate(_TENS, 2) for k, o in enumerate(_ONES[1:10], 1)}
_EDGE = " \t\r\n.,;:!?*_`\"'()[]{}$="


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact value and the words that stand for its unit (empty where there are none)."""

    value: Fraction
    unit: str


def _plain(text: str) -> str:
    """Typographic and LaTeX spellings as ASCII; superscripts become powers and vulgar fractions fractions."""
    if not text.isascii():
        text = VULGAR.sub(lambda m: " " + unicodedata.normalize("NFKC", m.group()), text)
        text = SUPERSCRIPTS.sub(lambda m: "^" + m.group().translate(SUPERSCRIPT), text)
        text = unicodedata.normalize("NFKC", text).translate(_SIGNS)
        text = "".join(str(unicodedata.decimal(c)) if not c.isascii() and c.isdecimal() else c for c in text)
    if "\\" in text or "{" in text:
        text = _TEXT.sub(r" \1", _FRAC.sub(r" \1/\2", text))
        for said, meant in _LATEX:
            text = text.replace(said, meant)
    text = text.strip(" \t\r\n*_`")
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == "$" else text


def _decimal(digits: str, sep: str | None) -> Decimal:
    if sep:
        return Decimal(digits.replace(sep, ""))
    if "," in digits and "." in digits and digits.rindex(",") > digits.rindex("."):
        return Decimal(digits.replace(".", "").replace(",", "."))
    if digits.count(".") > 1:
        return Decimal(digits.replace(".", ""))
    return Decimal(digits.replace(",", ""))


def _value(match: re.Match[str]) -> Fraction | None:
    """The value of one match; None where it is out of bounds or divides by zero."""
    part = match.groupdict()
    if match.end() - match.start() > MAX_DIGITS:
        return None
    exponent = int(part["exp"] or part["exp10"] or part["power"] or 0)
    if abs(exponent) > MAX_EXPONENT:
        return None
    if part["den"] or part["bottom"]:
        den = int(part["den"] or part["bottom"])
        if den == 0:
            return None
        value = int(part["whole"] or 0) + Fraction(int(part["num"] or part["top"]), den)
    elif part["digits"]:
        value = Fraction(_decimal(part["digits"], part["sep"]))
    else:
        value = Fraction(1)
    if exponent:
        value *= Fraction(10) ** exponent
    negative = "-" in (part["sign"] or "") or "-" in (part["sign2"] or "")
    return -value if negative else value


def _word_number(text: str) -> Quantity | None:
    """A number in words below a hundred, alone or before its unit: ``twenty-one days``."""
    words = text.strip(_EDGE).casefold().split(None, 1)
    if not words or words[0] not in _WORD_VALUES:
        return None
    rest = words[1] if len(words) > 1 else ""
    if any(w.strip(_EDGE) in _WORD_VALUES or w.strip(_EDGE) in MAGNITUDE or w in NOT_PLAIN for w in rest.split()):
        return None
    return None if any(c.isdigit() for c in rest) else Quantity(Fraction(_WORD_VALUES[words[0]]), rest.strip(_EDGE))


def parse_quantity(text: str) -> Quantity | None:
    """The one number of an answer, with what stands beside it as its unit.

    Reads thousands separators, decimals, fractions, mixed and vulgar fractions, scientific and E notation, typographic minus signs,
    currency signs, magnitude words and number words below a hundred. Refuses (None) answers with several numbers, ranges, comparisons and
    negations, a decimal comma that might be a list, and numbers beyond ``MAX_DIGITS`` or ``MAX_EXPONENT``.

    Args:
        text: an answer; the caller bounds its length.
    """
    if _SIMPLE.match(text):  # most answers
        return Quantity(Fraction(Decimal(text)) if "." in text else Fraction(int(text)), "")
    text = _plain(text)
    match = _NUMBER.search(text)
    if match is None:
        return _word_number(text)
    value = _value(match)
    lead, tail = text[: match.start()], text[match.end() :]
    if value is None or _STRAY_DIGIT.search(tail) or any(c.isdigit() for c in lead) or tail[:1] in ("^", "*", "/", "_"):
        return None
    bare_lead = lead.rstrip(_EDGE.replace("=", ""))
    if bare_lead and (bare_lead[-1] in "<>\u2264\u2265\u2260\u00b1\u221a^*/+-\\" or not NOT_PLAIN.isdisjoint(lead.casefold().split())):
        return None
    if bare_lead.casefold().endswith(("minus", "negative")):
        value = -value
    said = tail
    if tail[:2] in ("st", "nd", "rd", "th") and not tail[2:3].isalpha():
        said = tail[2:]
    said = said.strip(_EDGE.replace("$", ""))
    first, _, rest = said.partition(" ")
    magnitude = MAGNITUDE.get(first.casefold())
    if magnitude is not None:
        value, said = value * 10**magnitude, rest.strip(_EDGE)
    elif tail[:1] in ("k", "K", "M", "m", "B", "b") and not tail[1:2].isalnum() and not tail[1:].strip(_EDGE):
        return Quantity(value, tail[:1])  # 5k, 5M: a magnitude or a unit, the contract says which
    said = said or (match["currency"] or "").strip()
    if not NOT_PLAIN.isdisjoint(said.casefold().split()):
        return None
    return Quantity(value, said)


@lru_cache(maxsize=4096)
def parse_gold(gold: str, unit: str | None) -> Quantity | None:
    """The gold with the unit that its contract names, or else the one it carries itself."""
    quantity = parse_quantity(gold)
    if quantity is None:
        return None
    if unit is None:
        return quantity
    return None if quantity.unit and relate(quantity.unit, unit) == "contradicts" else Quantity(quantity.value, unit)


NumberVerdict = Literal["correct", "incorrect", "unit_mismatch", "unparsable_pred"]


def compare(gold: Quantity, unit: str | None, tolerance: float, answer: str) -> NumberVerdict:
    """Compare an answer with the gold, exactly or within an absolute tolerance.

    A unit may be left out; one that contradicts is wrong. Where the contract names no unit but the gold carries one, only another *known* unit
    contradicts. A percentage equals the bare fraction it stands for (50 % = 0.5).

    Args:
        gold: from ``parse_gold``.
        unit: unit of the contract.
        tolerance: absolute, in that unit.
        answer: the candidate's answer.
    """
    said = parse_quantity(answer)
    if said is None:
        return "unparsable_pred"
    if said.unit in ("k", "K", "M", "m", "B", "b") and unit is None and not gold.unit:
        return "unparsable_pred"
    value = said.value
    if not (said.unit or gold.unit) and not tolerance:
        return "correct" if value == gold.value else "incorrect"
    percent = bool(gold.unit) and canonical_unit(gold.unit) == "%"
    said_percent = bool(said.unit) and canonical_unit(said.unit) == "%"
    mismatch = False
    if unit is not None:
        mismatch = relate(said.unit, unit) == "contradicts"
    elif said.unit and gold.unit:
        mismatch = relate(said.unit, gold.unit) == "contradicts" and is_known_unit(gold.unit) and is_known_unit(said.unit)
    if mismatch:
        return "unit_mismatch"
    bound = Fraction(Decimal(repr(tolerance))) if tolerance else Fraction(0)
    if abs(value - gold.value) <= bound:
        return "correct"
    if percent and not said.unit:
        value *= 100
    elif said_percent and not gold.unit:
        value /= 100
    else:
        return "incorrect"
    return "correct" if abs(value - gold.value) <= bound else "incorrect"
