"""Wrong answers that look right: what a sound contract must reject."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from schemas.contract import AnswerContract
from schemas.ids import content_id
from udfs.grading.dates import parse_date
from udfs.grading.numbers import parse_gold
from udfs.grading.texts import is_code_like
from udfs.grading.units import canonical_unit

# Units that are mistaken for one another; the first other one of a family is tried.
_FAMILIES = (
    ("km", "m", "mi", "cm", "mm", "ft", "in", "yd"), ("kg", "g", "lb", "mg", "t", "oz"), ("s", "min", "h", "ms", "d"), ("%", "deg"),
    ("$", "\u20ac", "\u00a3"), ("MB", "GB", "kB", "byte"), ("degC", "degF", "K"), ("l", "ml", "gal"), ("kW", "MW", "W"), ("km^2", "m^2", "ha", "acre"), ("km/h", "mph"),
)  # fmt: skip
_OPPOSITES = {"True": "False", "False": "True", "None": "0"}


def _plain(value: Fraction, places: int) -> str:
    """A fraction with so many decimals, exact for the values that are made here."""
    scaled = round(value * 10**places)
    digits = f"{abs(scaled):0{places + 1}d}"
    text = digits if not places else f"{digits[:-places]}.{digits[-places:]}"
    return f"-{text}" if scaled < 0 else text


def _places(value: Fraction) -> int:
    """Decimals that write the value exactly, at most 12."""
    return next((n for n in range(13) if (value * 10**n).denominator == 1), 12)


def _numbers(contract: AnswerContract) -> Iterator[str]:
    """Just outside the tolerance, tenfold and a tenth, doubled, digits swapped, sign turned, another unit."""
    gold = parse_gold(contract.gold, contract.unit)
    if gold is None:
        return
    value, places = gold.value, _places(gold.value)
    tolerance = Fraction(str(contract.tolerance))
    step = Fraction(1, 10**places)
    out = max(places, _places(tolerance))
    yield _plain(value + tolerance + step, out)
    yield _plain(value - tolerance - step, out)
    digits = _plain(abs(value), places)
    for i in range(len(digits) - 1):
        a, b = digits[i], digits[i + 1]
        if a != b and a.isdigit() and b.isdigit():
            yield ("-" if value < 0 else "") + digits[:i] + b + a + digits[i + 2 :]
    yield from (_plain(value * 10, places), _plain(value / 10, places + 1), _plain(value * 2, places), _plain(-value, places))
    if gold.unit:
        unit = canonical_unit(gold.unit)
        others = next(([o for o in family if o != unit] for family in _FAMILIES if unit in family), ["km" if unit != "km" else "m"])
        yield f"{_plain(value, places)} {others[0].replace('deg', '°')}"


def _shift_month(day: dt.date, months: int) -> dt.date:
    index = day.year * 12 + day.month - 1 + months
    return dt.date(index // 12, index % 12 + 1, min(day.day, 28))


def _dates(contract: AnswerContract) -> Iterator[str]:
    """A day, a month, a year away; day and month swapped; less precise."""
    iso = parse_date(contract.gold)
    if iso is None:
        return
    parts = iso.split("-")
    if len(parts) == 3 and iso[0] != "-" and 2 <= int(parts[0]) <= 9998:
        day = dt.date.fromisoformat(iso)
        yield from ((day + dt.timedelta(days=n)).isoformat() for n in (1, -1))
        yield from (_shift_month(day, n).isoformat() for n in (1, -1, 12, -12))
        if day.day <= 12 and day.day != day.month:
            yield dt.date(day.year, day.day, day.month).isoformat()
        yield from (iso[:7], iso[:4])
    elif len(parts) == 2 and parts[0]:
        year, month = int(parts[0]), int(parts[1])
        yield from (f"{year:04d}-{month % 12 + 1:02d}", f"{year + 1:04d}-{month:02d}", f"{year:04d}")
    elif len(parts) == 1:
        year = int(iso)
        yield from (f"{y:04d}" for y in (year + 1, year - 1, year + 10, year - 10, year + 100) if 0 < y < 10000)


def _changed_characters(text: str, seed: str) -> Iterator[str]:
    """One character of a name changed, dropped, doubled; positions derived from the seed."""
    places = [i for i, c in enumerate(text) if c.isalnum()]
    places.sort(key=lambda i: content_id("near_miss", seed, i))
    for i in places[:2]:
        c = text[i]
        other = str((int(c) + 1) % 10) if c.isdigit() and c.isascii() else ("x" if c not in "xX" else "z")
        yield text[:i] + other + text[i + 1 :]
    if len(places) > 2:
        yield text[: places[0]] + text[places[0] + 1 :]
        yield text[: places[1]] + text[places[1]] + text[places[1] :]


def _texts(contract: AnswerContract, others: Sequence[str], seed: str) -> Iterator[str]:
    """Other answers, a word dropped, truncation, two answers at once, a changed character, the case of code."""
    gold = contract.gold
    others = [other for other in others if other.strip()]
    yield from others[:3]
    words = gold.split()
    if len(words) > 1:
        yield from (" ".join(words[:-1]), " ".join(words[1:]))
    elif len(gold) > 4:
        yield gold[: len(gold) // 2]
    yield from _changed_characters(gold, seed)
    if is_code_like(gold):
        if gold in _OPPOSITES:
            yield _OPPOSITES[gold]
        yield gold.swapcase()
    yield f"{gold} or {others[0] if others else 'something else'}"


def _choices(contract: AnswerContract) -> Iterator[str]:
    """Other letters, their texts, two at once, the gold's letter with another text."""
    letters = [chr(65 + i) for i in range(max(len(contract.options), 2))]
    wrong = [letter for letter in letters if letter != contract.gold]
    yield from wrong[:3]
    yield f"{contract.gold} and {wrong[0]}"
    for letter in wrong[:2]:
        if contract.options:
            text = contract.options[ord(letter) - 65]
            yield from (text, f"{contract.gold}. {text}")


def _core(text: str) -> str:
    """Letters, digits and signs that carry meaning, for telling a near miss from a re-spelling without asking the grader."""
    words = [w for w in text.casefold().replace("'", " ").replace('"', " ").split() if w not in ("the", "a", "an")]
    return " ".join(w.strip(".,;:!?`()[]{}*") or w for w in words)


def _is_respelling(contract: AnswerContract, text: str) -> bool:
    if contract.type != "text":
        return False
    golds = (contract.gold, *contract.aliases)
    if any(is_code_like(gold) for gold in golds):
        return any(text.strip().strip("'\"`") == gold.strip().strip("'\"`") for gold in golds)
    return any(_core(text) == _core(gold) for gold in golds)


def near_misses(contract: AnswerContract, *, others: Sequence[str] = (), seed: str = "", limit: int = 8) -> tuple[str, ...]:
    """Wrong answers for one contract, most telling first.

    They are made from the gold by rules that know nothing of the grader, so that a contract (or a grader) that is too lenient shows. A
    respelling of the gold or of an alias is none.

    Args:
        contract: whose gold they miss.
        others: answers of other items or distractors (texts).
        seed: an id that decides which characters change.
        limit: at most so many.
    """
    made: Iterable[str]
    if contract.type == "number":
        made = _numbers(contract)
    elif contract.type == "date":
        made = _dates(contract)
    elif contract.type == "choice":
        made = _choices(contract)
    else:
        made = _texts(contract, others, seed)
    gold = parse_gold(contract.gold, contract.unit) if contract.type == "number" else None
    kept: dict[str, None] = {}
    for text in made:
        if (
            not text.strip()
            or text == contract.gold
            or _is_respelling(contract, text)
            or (gold is not None and _zero_twin(gold.value, text))
        ):
            continue
        kept.setdefault(text)
        if len(kept) == limit:
            break
    return tuple(kept)


def _zero_twin(value: Fraction, text: str) -> bool:
    """Multiples and the negative of zero are zero; swapped digits may restore the value (1.0 has none left to swap)."""
    try:
        return Fraction(text) == value
    except ValueError:
        return False
