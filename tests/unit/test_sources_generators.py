"""Generated problems: answers computed again from the question's own words, by other means than the generator's."""

from __future__ import annotations

import ast
import importlib.util
import operator
import re
from calendar import monthrange
from collections import Counter
from fractions import Fraction

import pytest

from udfs.admission.self_test import self_test
from udfs.grading import grade
from udfs.sources import gym
from udfs.sources.generators.families import FAMILIES, UnknownFamilyError, generate, levels_of, maker, problem
from udfs.sources.generators.problem import LEVELS

PER_LEVEL = 12
_SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
#: Of one base unit each, by the words of the questions: length in millimetres, mass in grams, time in seconds, area in square millimetres.
_SIZES = {
    "millimetres": 1, "centimetres": 10, "metres": 1000, "kilometres": 10**6, "inches": Fraction(254, 10), "feet": Fraction(3048, 10), "yards": Fraction(9144, 10),
    "miles": Fraction(1609344), "grams": 1, "kilograms": 1000, "tonnes": 10**6, "seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800,
    "millilitres": 1, "litres": 1000, "square millimetres": 1, "square centimetres": 100, "square metres": 10**6, "hectares": 10**10, "square kilometres": 10**12,
}  # fmt: skip


def arithmetic(question):
    def value(node):
        return node.value if isinstance(node, ast.Constant) else _SIGNS[type(node.op)](value(node.left), value(node.right))

    return value(ast.parse(question.removeprefix("Calculate ").rstrip("."), mode="eval").body)


def purchase(question):
    total = sum(int(n) * (int(price) - ("dollar cheaper" in question)) for n, price in re.findall(r"(\d+) \w+ at \$(\d+)", question))
    friends = re.search(r"(\d+) friends", question)
    total *= 1 + int(friends.group(1)) if friends else 1
    paid = re.search(r"hand over \$(\d+)", question)
    return int(paid.group(1)) - total if paid else total


def divisors(question):
    values = [int(n) for n in re.findall(r"\d+", question)]
    if "greatest" in question:
        return max(n for n in range(1, min(values) + 1) if all(v % n == 0 for v in values))
    multiple = max(values)
    while any(multiple % v for v in values):
        multiple += max(values)
    return multiple


def recurrence(question):
    start, factor, sign, step, place = re.search(
        r"begins with (\d+)\. .* is (\d+) times .*, (minus|plus) (\d+)\. What is term number (\d+)", question
    ).groups()
    ratio, shift = int(factor), -int(step) if sign == "minus" else int(step)
    n = int(place) - 1
    # The closed form of x -> r x + s; r is at least 2.
    return int(start) * ratio**n + Fraction(shift * (ratio**n - 1), ratio - 1)


def unit_conversion(question):
    asked, count, given = re.fullmatch(r"How many ([a-z ]+) are (\d+) ([a-z ]+)\?", question).groups()
    return int(count) * Fraction(_SIZES[given]) / Fraction(_SIZES[asked])


def base_conversion(question):
    return int(
        *re.search(r"is (\w+) in base (\d+)", question).groups()[:1],
        int(re.search(r"in base (\d+)[ ?(]", question.split(" is ", 1)[1]).group(1)),
    )


def day_number(text):
    """Days since the year 1, counted by months: no calendar of the library's."""
    day, month, year = text.split()
    whole = sum(365 + (y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)) for y in range(1, int(year)))
    return whole + sum(monthrange(int(year), m)[1] for m in range(1, _MONTHS.index(month) + 1)) + int(day)


def day_count(question):
    first, second = re.fullmatch(r"How many days after (.*) is (.*)\?", question).groups()
    return day_number(second) - day_number(first)


def sorting(question):
    values = [int(n) for n in question.split(": ")[1].split(", ")]
    # Selection, lowest first.
    made, key = [], (lambda v: (abs(v), v)) if "absolute" in question else (lambda v: v)
    while values:
        low = values[0]
        for other in values:
            low = other if key(other) < key(low) else low
        values.remove(low)
        made.append(low)
    return made[::-1] if "descending" in question else made


def counting(question):
    values = [int(n) for n in question.split(": ")[1].rstrip("?").split(", ")]
    bound = re.search(r"greater than (-?\d+)", question)
    kept = [v for v in values if bound is None or v > int(bound.group(1))]
    if factor := re.search(r"divisible by (\d+)", question):
        kept = [v for v in kept if abs(v) in range(0, 10_000, int(factor.group(1)))]
    if "not repeated" in question:
        once = {v for v, n in Counter(values).items() if n == 1}
        kept = [v for v in kept if v in once]
    return len(kept)


NUMBERS = {
    "arithmetic": arithmetic, "purchase": purchase, "divisors": divisors, "recurrence": recurrence, "unit_conversion": unit_conversion,
    "base_conversion": base_conversion, "day_count": day_count, "counting": counting,
}  # fmt: skip


def made(family, level):
    return [problem(FAMILIES[family], 3, index, level) for index in range(PER_LEVEL)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_answers_are_right_and_contracts_sound(family, level):
    for one in made(family, level):
        if family in NUMBERS:
            assert Fraction(one.contract.gold) == NUMBERS[family](one.question), one.question
        elif family == "sorting":
            assert [int(n) for n in one.contract.gold.split(", ")] == sorting(one.question), one.question
        else:
            amount, back, day = re.fullmatch(r"Which date is (.*) (before|after) (.*)\?", one.question).groups()
            numbers = [int(n) for n in re.findall(r"\d+", amount)]
            days = numbers[0] if len(numbers) == 1 else 7 * numbers[0] + numbers[1]
            assert day_number(one.answer) == day_number(day) + (-days if back == "before" else days), one.question
        assert grade(one.contract, one.answer).reward == 1.0
        trial = self_test(one.contract, one.answer, seed=one.question)
        assert (trial.refused, trial.accepted) == (None, None), one.question


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_higher_levels_ask_for_more(family):
    """More is longer, or larger: the sum of all numbers and words of a question grows from the first to the last level."""

    def size(level):
        return sum(
            len(one.question.split()) + sum(len(n) for n in re.findall(r"\d+", one.question + one.answer)) for one in made(family, level)
        )

    assert size(5) > size(1)


def test_a_problem_depends_on_its_number_alone_and_levels_go_round():
    few, many = list(generate("sorting", 3, 5, range(2, 4))), list(generate("sorting", 9, 5, range(2, 4)))
    assert many[:3] == few
    assert [item.ident for item in few] == ["sorting@1/5/0/2", "sorting@1/5/1/3", "sorting@1/5/2/2"]
    assert {item.question for item in generate("sorting", 9, 6, range(2, 4))}.isdisjoint(item.question for item in many)
    assert {item.kind for item in generate("mixed", len(FAMILIES), 0, LEVELS)} == set(FAMILIES)


def test_the_days_of_this_test_are_counted_right():
    """Derived by hand: from 6 October 1995 on 25 days of October, 30, 31, then 11."""
    assert day_number("11 January 1996") - day_number("6 October 1995") == 97


@pytest.mark.parametrize("said", ["0..3", "3..2", "6", "", "1..", "a..b", "1...3", "²"])
def test_levels_that_there_are_not(said):
    with pytest.raises(UnknownFamilyError, match="1 to 5"):
        levels_of(said)


def test_levels_and_families_by_name():
    assert (levels_of("2"), levels_of("2..4")) == (range(2, 3), range(2, 5))
    assert maker("sorting").label == "sorting@1.1"
    with pytest.raises(UnknownFamilyError, match="arithmetic"):
        maker("poetry")


def test_reasoning_gym_is_asked_for_by_name_where_it_is_installed():
    if importlib.util.find_spec("reasoning_gym") is None:
        with pytest.raises(gym.GymError, match="not installed") as refused:
            maker("gym:chain_sum")
        assert refused.value.exit_code == 2
        return
    items = list(maker("gym:chain_sum").items(3, 1, LEVELS))
    assert [item.refused for item in items] == [None] * 3
