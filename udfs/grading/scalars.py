"""Whether two values are the same: numbers and formulas, with their units, percentages, degrees and bases."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from udfs.grading import numeric
from udfs.grading.canonical import Ratio, UndefinedError, ratio, same_ratio
from udfs.grading.polynomials import ONE, OutOfBoundsError, constant_value
from udfs.grading.primaries import Node
from udfs.grading.units import canonical_unit, is_known_unit, relate

#: Comparisons to sixty digits in one grading: each costs about a millisecond.
MAX_NUMERIC = 64
_RADIANS = frozenset({"rad", "radian"})


@dataclass(slots=True)
class Rules:
    """How one answer is compared.

    Attributes:
        kind: type of the contract: expression, set, interval or list.
        ordered: whether the order of a list counts.
        tolerance: absolute tolerance of a number.
        unit: unit that the contract names.
        flags: what was noticed on the way.
        numeric_left: comparisons to many digits that are left.
    """

    kind: str
    ordered: bool = True
    tolerance: Fraction = Fraction(0)
    unit: str | None = None
    flags: list[str] = field(default_factory=list)
    numeric_left: int = MAX_NUMERIC


@lru_cache(maxsize=4096)
def _ratio(node: Node) -> Ratio | None:
    """The exact quotient; None where exact arithmetic does not reach. UndefinedError where there is no value."""
    try:
        return ratio(node)
    except OutOfBoundsError:
        return None


def rational(node: Node) -> Fraction | None:
    """The rational number that a formula is; None where it is none."""
    if node[0] == "num":
        value: Fraction = node[1]
        return value
    try:
        found = _ratio(node)
    except UndefinedError:
        return None
    return constant_value(found[0]) if found is not None and found[1] == ONE else None


def has_value(node: Node) -> bool:
    """Whether a formula divides by zero nowhere that exact arithmetic sees."""
    try:
        _ratio(node)
    except UndefinedError:
        return False
    return True


def _plain(node: Node) -> tuple[Node, str]:
    """A value and the unit beside it; radians are none."""
    if node[0] != "unit":
        return (("neg", _plain(node[1])[0]), _plain(node[1])[1]) if node[0] == "neg" and node[1][0] == "unit" else (node, "")
    unit = canonical_unit(node[2])
    return node[1], "" if unit in _RADIANS else unit


def same_bare(gold: Node, answer: Node, rules: Rules) -> bool | None:
    """Whether two values without units are equal; None where it is undecided."""
    if "based" in (gold[0], answer[0]):
        return _same_digits(gold, answer)
    if "dots" in (gold[0], answer[0]):
        return gold == answer
    a, b = rational(gold), rational(answer)
    if a is not None and b is not None:
        return abs(a - b) <= rules.tolerance
    if rules.tolerance and numeric.within(gold, answer, rules.tolerance):
        return True
    try:
        left, right = _ratio(gold), _ratio(answer)
    except UndefinedError:
        return False
    decided = same_ratio(left, right) if left is not None and right is not None else None
    if decided is None and rules.numeric_left > 0:
        rules.numeric_left -= 1
        decided = numeric.same_function(gold, answer)
        if decided:
            rules.flags.append("numeric")
    return decided


def _same_digits(gold: Node, answer: Node) -> bool:
    """``1011_2``: the suffix may be left out, never contradicted. Another base is another answer: the question asks for these digits."""
    if gold[0] == answer[0]:
        return gold == answer
    based, other = (gold, answer) if gold[0] == "based" else (answer, gold)
    return based[1].isdecimal() and rational(other) == int(based[1])


def same_scalar(gold: Node, answer: Node, rules: Rules) -> bool | None:
    r"""Whether two values are equal, with the policy of units.

    A unit may be left out or added, never contradicted (two known units that differ; any other unit than the one a contract names).
    ``50\%`` equals 0.5 and 50 (the sign is a unit that may be left out), not 5000; ``90^\circ`` equals 90 and pi/2.
    """
    (bare_gold, unit), (bare_answer, said) = _plain(gold), _plain(answer)
    if rules.unit:
        unit = canonical_unit(rules.unit)
        mismatch = relate(said, rules.unit) == "contradicts"
    else:
        mismatch = bool(unit and said) and relate(said, unit) == "contradicts" and is_known_unit(unit) and is_known_unit(said)
    if mismatch and {unit, said} != {"deg", ""}:
        rules.flags.append("unit_mismatch")
        return False
    decided = same_bare(bare_gold, bare_answer, rules)
    if decided or unit == said:
        return decided
    for sign in ("%", "deg"):
        if sign == unit and not said:
            return same_bare(("unit", bare_gold, sign), bare_answer, rules)
        if sign == said and not unit:
            return same_bare(bare_gold, ("unit", bare_answer, sign), rules)
    return decided
