"""Units of measure: one canonical spelling for the spellings people use."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

UnitRelation = Literal["omitted", "agrees", "contradicts"]

# Canonical symbol -> spellings in words (singular; plurals in -s are derived). Symbols are compared with their case first.
_WORDS: dict[str, str] = {
    "m": "metre meter", "km": "kilometre kilometer", "cm": "centimetre centimeter", "mm": "millimetre millimeter",
    "nm": "nanometre nanometer", "um": "micrometre micrometer micron", "in": "inch inches", "ft": "foot feet", "yd": "yard", "mi": "mile",
    "nmi": "nautical-mile", "g": "gram gramme", "kg": "kilogram kilogramme", "mg": "milligram milligramme", "t": "tonne", "lb": "pound lbs",
    "oz": "ounce", "st": "stone", "s": "second sec", "min": "minute", "h": "hour hr hrs", "d": "day", "week": "wk", "month": "mo", "yr": "year",
    "ms": "millisecond", "us": "microsecond", "ns": "nanosecond", "l": "litre liter L", "ml": "millilitre milliliter mL", "gal": "gallon",
    "ha": "hectare", "acre": "ac", "A": "ampere amp", "V": "volt", "W": "watt", "kW": "kilowatt", "MW": "megawatt", "GW": "gigawatt",
    "mW": "milliwatt", "hp": "horsepower", "J": "joule", "kJ": "kilojoule", "N": "newton", "Pa": "pascal", "kPa": "kilopascal", "Hz": "hertz",
    "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "K": "kelvin", "degC": "celsius", "degF": "fahrenheit", "deg": "degree",
    "%": "percent per-cent pct", "bit": "", "byte": "", "kB": "kilobyte KB", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte",
    "KiB": "kibibyte", "MiB": "mebibyte", "GiB": "gibibyte", "Mbit": "megabit", "$": "dollar usd", "\u20ac": "euro eur", "\u00a3": "gbp sterling",
    "\u00a5": "yen jpy", "cent": "", "kn": "knot", "mph": "", "dB": "decibel", "mol": "mole", "rpm": "",
}  # fmt: skip
_SYMBOLS = frozenset(_WORDS)
_SPELLINGS: dict[str, str] = {}
for _symbol, _spellings in _WORDS.items():
    for _word in (*_spellings.split(), *(() if len(_symbol) < 3 and _symbol.isalpha() else (_symbol.casefold(),))):
        _SPELLINGS[_word] = _symbol
        _SPELLINGS.setdefault(_word + "s", _symbol)

_SQUARE = re.compile(r"\b(square|sq\.?|cubic|cu\.?)\s+(\S+)")
_COMBINES = frozenset({"/", "per", "squared", "cubed", "square", "cubic", "a", "an"})
_PER = re.compile(r"\s*/\s*|\s+per\s+|\s+an?\s+")
_POWER = re.compile(r"\A(.+?)(?:\^|\*\*)?([234])\Z")
_TRIM = " \t\r\n.,;:!?()[]{}*_`\"'"


def _one(word: str) -> str:
    """Canonical spelling of one factor, e.g. ``kilometres`` -> ``km``, ``m2`` -> ``m^2``."""
    power = _POWER.match(word)
    if power and (power.group(1) in _SYMBOLS or power.group(1).casefold() in _SPELLINGS):
        return f"{_one(power.group(1))}^{power.group(2)}"
    if word in _SYMBOLS:
        return word
    folded = word.casefold()
    known = _SPELLINGS.get(word) or _SPELLINGS.get(folded)
    if known:
        return known
    if folded in _SYMBOLS:
        return folded
    return folded[:-1] if len(folded) > 3 and folded.endswith("s") and not folded.endswith("ss") else folded


@lru_cache(maxsize=4096)
def canonical_unit(text: str) -> str:
    """One spelling for a unit: ``square kilometres``, ``sq km``, ``km2`` -> ``km^2``; ``km/h`` = ``kilometers per hour``.

    Args:
        text: a unit in words or symbols; an unknown word is folded and loses a plural ``s``.
    """
    text = text.strip(_TRIM).replace("\u00b0", "deg").replace("\u00b5", "u").replace("\u03bc", "u").replace("\\%", "%")
    text = re.sub(r"\bdegrees?\s+(celsius|fahrenheit|c|f)\b", r"\1", text, flags=re.IGNORECASE) if "degree" in text else text
    text = text.replace("per cent", "percent").replace("nautical mile", "nautical-mile")
    text = _SQUARE.sub(lambda m: f"{m.group(2)}^{'2' if m.group(1).startswith('s') else '3'}", text)
    text = re.sub(r"(\S+)\s+(squared|cubed)\b", lambda m: f"{m.group(1)}^{'2' if m.group(2) == 'squared' else '3'}", text)
    text = {"kmh": "km/h", "kph": "km/h", "km/hr": "km/h", "mi/h": "mph", "miles per hour": "mph"}.get(text, text)
    return "/".join(" ".join(_one(w) for w in part.split()) for part in _PER.split(text))


def is_known_unit(text: str) -> bool:
    """Whether every factor of the unit is in the table of units."""
    factors = [f.split("^")[0] for part in canonical_unit(text).split("/") for f in part.split()]
    return bool(factors) and all(f in _SYMBOLS for f in factors)


def words_for(unit: str) -> tuple[str, ...]:
    """The words for a unit of the table, singular: ``km`` -> kilometre, kilometer; none for other units and for composed ones.

    Args:
        unit: a unit in words or symbols.
    """
    return tuple(word for word in _WORDS.get(canonical_unit(unit), "").split() if len(word) > 3 and word.isalpha())


@lru_cache(maxsize=4096)
def relate(said: str, unit: str) -> UnitRelation:
    """How the words beside a number stand to the unit it should have.

    Args:
        said: what stands there, e.g. ``km``, ``kilometres long``, ``km per hour``; empty where nothing does.
        unit: unit of the contract.

    Returns:
        ``agrees`` also where further words follow the unit, unless they go on with it (``per hour``, ``squared``, a second unit).
    """
    said = said.strip(_TRIM)
    if not said:
        return "omitted"
    wanted = canonical_unit(unit)
    if canonical_unit(said) == wanted:
        return "agrees"
    words = said.split()
    for n in range(1, min(len(words), 6)):
        rest = words[n].strip(_TRIM)
        if canonical_unit(" ".join(words[:n])) == wanted and rest not in _COMBINES and rest[:1] != "/" and not is_known_unit(rest):
            return "agrees"
    return "contradicts"
