"""Units and number bases."""

from __future__ import annotations

from udfs.sources.generators.draw import Draw
from udfs.sources.generators.problem import Problem, number

#: From, to, how many of the second make one of the first; by level. All exact.
_STEPS: dict[int, tuple[tuple[str, str, int], ...]] = {
    1: (("m", "cm", 100), ("km", "m", 1000), ("kg", "g", 1000), ("h", "min", 60), ("min", "s", 60)),
    2: (("h", "s", 3600), ("t", "kg", 1000), ("d", "h", 24), ("l", "ml", 1000), ("km", "cm", 100_000)),
    3: (("d", "min", 1440), ("km", "mm", 1_000_000), ("t", "g", 1_000_000), ("ft", "in", 12), ("yd", "ft", 3)),
    4: (("km^2", "m^2", 1_000_000), ("m^2", "cm^2", 10_000), ("ha", "m^2", 10_000), ("yd", "in", 36), ("d", "s", 86_400)),
    5: (("km^2", "ha", 100), ("m^2", "mm^2", 1_000_000), ("week", "min", 10_080), ("week", "s", 604_800), ("mi", "ft", 5280)),
}
_WORDS = {
    "m": "metres", "cm": "centimetres", "km": "kilometres", "mm": "millimetres", "kg": "kilograms", "g": "grams", "t": "tonnes", "h": "hours",
    "min": "minutes", "s": "seconds", "d": "days", "week": "weeks", "l": "litres", "ml": "millilitres", "ft": "feet", "in": "inches", "yd": "yards",
    "mi": "miles", "ha": "hectares", "km^2": "square kilometres", "m^2": "square metres", "cm^2": "square centimetres", "mm^2": "square millimetres",
}  # fmt: skip
_BASES = {1: (2,), 2: (2, 3, 8), 3: (5, 8, 16), 4: (7, 9, 16), 5: (11, 13, 16, 36)}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def conversion(draw: Draw, level: int) -> Problem:
    """A quantity in another unit, in either direction; the answer is always whole."""
    large, small, factor = draw.one_of(_STEPS[level])
    count = draw.between(2, 20 * level)
    if draw.between(0, 1):
        return number(f"How many {_WORDS[small]} are {count} {_WORDS[large]}?", count * factor, small)
    return number(f"How many {_WORDS[large]} are {count * factor} {_WORDS[small]}?", count, large)


def base(draw: Draw, level: int) -> Problem:
    """A number in another base, asked for in base 10."""
    radix = draw.one_of(_BASES[level])
    value = draw.between(radix + 1, radix ** (2 + (level + 1) // 2) - 1)
    digits, left = "", value
    while left:
        left, digit = divmod(left, radix)
        digits = _DIGITS[digit] + digits
    letters = " (letters stand for digits above 9: a is 10, b is 11, and so on)" if radix > 10 else ""
    return number(f"Which number in base 10 is {digits} in base {radix}{letters}?", value)
