"""Wrong numbers and dates that look right."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from fractions import Fraction

from schemas.contract import AnswerContract
from udfs.grading.dates import parse_date
from udfs.grading.numbers import parse_gold
from udfs.grading.units import canonical_unit

# Units that are mistaken for one another; the first other one of a family is tried.
_FAMILIES = (
    ("km", "m", "mi", "cm", "mm", "ft", "in", "yd"), ("kg", "g", "lb", "mg", "t", "oz"), ("s", "min", "h", "ms", "d"), ("%", "deg"),
    ("$", "\u20ac", "\u00a3"), ("MB", "GB", "kB", "byte"), ("degC", "degF", "K"), ("l", "ml", "gal"), ("kW", "MW", "W"), ("km^2", "m^2", "ha", "acre"), ("km/h", "mph"),
)  # fmt: skip


def plain(value: Fraction, places: int) -> str:
    """A fraction with so many decimals, exact for the values that are made here."""
    scaled = round(value * 10**places)
    digits = f"{abs(scaled):0{places + 1}d}"
    text = digits if not places else f"{digits[:-places]}.{digits[-places:]}"
    return f"-{text}" if scaled < 0 else text


def places_of(value: Fraction) -> int:
    """Decimals that write the value exactly, at most 12."""
    return next((n for n in range(13) if (value * 10**n).denominator == 1), 12)


def _swapped(digits: str) -> Iterator[str]:
    """Two neighbouring digits in each other's place."""
    for i in range(len(digits) - 1):
        a, b = digits[i], digits[i + 1]
        if a != b and a.isdigit() and b.isdigit():
            yield digits[:i] + b + a + digits[i + 2 :]


def other_values(value: Fraction, tolerance: Fraction) -> Iterator[str]:
    """Just outside the tolerance, digits swapped (where that leaves it), tenfold and a tenth, doubled, sign turned.

    Args:
        value: the right value.
        tolerance: absolute, 0 for exact.
    """
    places = places_of(value)
    step = Fraction(1, 10**places)
    out = max(places, places_of(tolerance))
    yield plain(value + tolerance + step, out)
    yield plain(value - tolerance - step, out)
    for swapped in _swapped(plain(abs(value), places)):
        if abs(Fraction(swapped) - abs(value)) > tolerance:
            yield f"-{swapped}" if value < 0 else swapped
    # Also within the tolerance: one that takes ten times the value takes anything.
    multiples = ((value * 10, places), (value / 10, places + 1), (value * 2, places), (-value, places))
    yield from (plain(other, decimals) for other, decimals in multiples if other != value)


def numbers(contract: AnswerContract) -> Iterator[str]:
    """Other values, and the right one in another unit."""
    gold = parse_gold(contract.gold, contract.unit)
    if gold is None:
        return
    yield from other_values(gold.value, Fraction(str(contract.tolerance)))
    if gold.unit:
        unit = canonical_unit(gold.unit)
        others = next(([o for o in family if o != unit] for family in _FAMILIES if unit in family), ["km" if unit != "km" else "m"])
        yield f"{plain(gold.value, places_of(gold.value))} {others[0].replace('deg', '°')}"


def _shift_month(day: dt.date, months: int) -> dt.date:
    index = day.year * 12 + day.month - 1 + months
    return dt.date(index // 12, index % 12 + 1, min(day.day, 28))


def dates(contract: AnswerContract) -> Iterator[str]:
    """A day, a month, a year away; day and month swapped; less precise, and more precise than the gold says."""
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
        yield from (f"{year:04d}-{month % 12 + 1:02d}", f"{year + 1:04d}-{month:02d}", f"{year:04d}", f"{iso}-15")
    elif len(parts) == 1:
        year = int(iso)
        yield from (f"{y:04d}" for y in (year + 1, year - 1, year + 10, year - 10, year + 100) if 0 < y < 10000)
        yield f"{iso}-06"
        yield f"{year} BC"
    elif len(parts) == 2:
        year = int(parts[1])
        yield from (f"{year} AD", f"{year + 1} BC", f"{year + 10} BC")
