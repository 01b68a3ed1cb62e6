"""Expressions, purchases, greatest common divisors, recurrences."""

from __future__ import annotations

from math import gcd, lcm

from udfs.sources.generators.draw import Draw
from udfs.sources.generators.problem import Problem, number

_GOODS = (
    ("pencil", "pencils"),
    ("notebook", "notebooks"),
    ("lamp", "lamps"),
    ("mug", "mugs"),
    ("ticket", "tickets"),
    ("basket", "baskets"),
    ("rope", "ropes"),
)
_NAMES = ("Ana", "Bela", "Chidi", "Dara", "Emre", "Farah", "Goran", "Hana", "Imran", "Jana")


def expression(draw: Draw, level: int) -> Problem:
    """Sums, differences and products of ``level`` + 1 numbers; brackets from level 3 on."""
    high = 10 * 2 ** (level - 1)
    text, value = str(first := draw.between(2, high)), first
    binds = 3  # how tightly the text holds together: 1 a sum, 2 a product, 3 a number or brackets
    for _ in range(level):
        sign, other = draw.one_of("+-*"), draw.between(2, high)
        if sign == "*":
            other = draw.between(2, 9)
            if binds == 1 and level >= 3:
                text = f"({text})"
            elif binds == 1:
                sign = draw.one_of("+-")
        text = f"{text} {sign} {other}"
        value = value * other if sign == "*" else value + other if sign == "+" else value - other
        binds = 2 if sign == "*" else 1
    return number(f"Calculate {text}.", value)


def purchase(draw: Draw, level: int) -> Problem:
    """Several goods at several prices; from level 3 on a discount per piece, at 4 a number of equal customers, at 5 change from a sum."""
    name = draw.one_of(_NAMES)
    parts, total, pieces = [], 0, 0
    for good, goods in draw.several(_GOODS, 1 + (level + 1) // 2):
        count, price = draw.between(2, 4 + 4 * level), draw.between(2, 9 + 3 * level)
        parts.append(f"{count} {goods} at ${price} a {good}")
        total += count * price
        pieces += count
    bought = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    said = [f"{name} buys {bought}."]
    if level >= 3:
        said.append("Every piece is a dollar cheaper today.")
        total -= pieces
    if level >= 4:
        friends = draw.between(2, 6)
        said.append(f"{friends} friends each buy exactly the same.")
        total *= friends + 1
    if level == 5:
        paid = total + draw.between(1, 60)
        return number(" ".join([*said, f"Together they hand over ${paid}. How many dollars of change do they get?"]), paid - total, "$")
    whole = "they pay together" if level >= 4 else f"does {name} pay"
    return number(" ".join([*said, f"How many dollars {'do ' if level >= 4 else ''}{whole} in total?"]), total, "$")


def divisors(draw: Draw, level: int) -> Problem:
    """Greatest common divisor or least common multiple of two numbers, of three from level 4 on."""
    count = 2 if level < 4 else 3
    common = draw.between(2, 3 + 3 * level)
    values = [common * draw.between(2, 4 + 2 * level) for _ in range(count)]
    shown = " and ".join(filter(None, [", ".join(map(str, values[:-1])), str(values[-1])]))
    if draw.between(0, 1):
        return number(f"What is the greatest common divisor of {shown}?", gcd(*values))
    return number(f"What is the least common multiple of {shown}?", lcm(*values))


def recurrence(draw: Draw, level: int) -> Problem:
    """A sequence by its rule; which of its terms is asked for grows with the level."""
    start, factor, step = draw.between(1, 9), draw.between(2, 2 + (level + 1) // 2), draw.between(1, 4 * level)
    place = 2 + level + draw.between(0, 1)
    minus = bool(draw.between(0, 1))
    value = start
    for _ in range(place - 1):
        value = factor * value - step if minus else factor * value + step
    rule = f"{factor} times the term before it, {'minus' if minus else 'plus'} {step}"
    return number(
        f"A sequence begins with {start}. Every later term is {rule}. What is term number {place}, if {start} is term number 1?", value
    )
