"""Every family by name, and the items that it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from schemas.errors import VerilakeError
from udfs.sources import gym
from udfs.sources.document import VERSION
from udfs.sources.generators import arithmetic, calendar, lists, measures
from udfs.sources.generators.draw import Draw
from udfs.sources.generators.problem import LEVELS, Family, Problem
from udfs.sources.item import SourceItem
from udfs.sources.maths import stage_of_level

#: Asks for all families in turn.
MIXED = "mixed"
#: Asks for a data set of reasoning-gym.
GYM = "gym:"


class UnknownFamilyError(VerilakeError):
    """A family that verilake does not know, or levels that it does not have."""

    exit_code = 2

    @classmethod
    def from_name(cls, name: str) -> UnknownFamilyError:
        """Which, and which there are."""
        return cls(f"tasks generate {name}: no such family. There are: {', '.join(sorted(FAMILIES))}, {MIXED} and gym:<data set>.")

    @classmethod
    def from_levels(cls, said: str) -> UnknownFamilyError:
        """No range of levels."""
        return cls(f"--difficulty {said}: a level or a range of levels from {LEVELS[0]} to {LEVELS[-1]}, say 2..4.")


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("arithmetic", 1, "arithmetic", arithmetic.expression),
        Family("purchase", 1, "arithmetic", arithmetic.purchase),
        Family("divisors", 1, "number theory", arithmetic.divisors),
        Family("recurrence", 1, "sequences", arithmetic.recurrence),
        Family("unit_conversion", 1, "measures", measures.conversion),
        Family("base_conversion", 1, "number theory", measures.base),
        Family("date_shift", 1, "calendar", calendar.shifted),
        Family("day_count", 1, "calendar", calendar.between),
        Family("sorting", 1, "lists", lists.sorting),
        Family("counting", 1, "lists", lists.counting),
    )
}


def families_named(name: str) -> list[Family]:
    """The family of this name, or all of them in the order of their names.

    Raises:
        UnknownFamilyError: there is none.
    """
    if name == MIXED:
        return [FAMILIES[key] for key in sorted(FAMILIES)]
    if name not in FAMILIES:
        raise UnknownFamilyError.from_name(name)
    return [FAMILIES[name]]


def levels_of(said: str) -> range:
    """Levels from ``3`` or ``2..4``.

    Raises:
        UnknownFamilyError: no such range.
    """
    low, dots, high = said.partition("..")
    ends = (low, high if dots else low)
    if not all(end.isascii() and end.isdecimal() for end in ends):
        raise UnknownFamilyError.from_levels(said)
    found = range(int(ends[0]), int(ends[1]) + 1)
    if not found or found[0] < LEVELS[0] or found[-1] > LEVELS[-1]:
        raise UnknownFamilyError.from_levels(said)
    return found


def problem(family: Family, seed: int, index: int, level: int) -> Problem:
    """The problem of a family with a number, whatever others are made beside it."""
    return family.make(Draw(family.name, family.version, seed, index, level), level)


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes items by number.

    Attributes:
        label: ``name@version``, as silver.qa.template records it.
        items: items for a count, a seed and levels.
    """

    label: str
    items: Callable[[int, int, range], Iterator[SourceItem]]


def maker(name: str) -> Maker:
    """What ``verilake tasks generate NAME`` asks for: a family, all of them, or a data set of reasoning-gym.

    Raises:
        UnknownFamilyError: there is no such family.
        GymError: reasoning-gym is not installed, or has no such data set.
    """
    if name.startswith(GYM):
        return Maker(f"{name}@{gym.version()}.{VERSION}", partial(gym.generate, name.removeprefix(GYM)))
    # A sum rises with any of its parts.
    version = sum(family.version for family in families_named(name))
    return Maker(f"{name}@{version}.{VERSION}", partial(generate, name))


def generate(name: str, count: int, seed: int, levels: range) -> Iterator[SourceItem]:
    """Items of one family or of all in turn; levels go round within each.

    Args:
        name: of the family, or ``mixed``.
        count: how many.
        seed: of the row.
        levels: that are asked for.

    Raises:
        UnknownFamilyError: there is no such family.
    """
    families = families_named(name)
    for at in range(count):
        family, index = families[at % len(families)], at // len(families)
        level = levels[index % len(levels)]
        made = problem(family, seed, index, level)
        yield SourceItem(
            family.name, made.question, made.answer, made.contract, domain=family.domain, stage=stage_of_level(str(level)),
            ident=f"{family.name}@{family.version}/{seed}/{index}/{level}",
        )  # fmt: skip
