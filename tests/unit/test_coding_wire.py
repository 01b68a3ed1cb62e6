"""Values on their way between candidate, tests and parent: what they are afterwards, and which are the same."""

# ruff: noqa: DTZ001 - naive datetimes are what tests of data sets hold
from __future__ import annotations

import json
import math
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from udfs.coding.compare import same
from udfs.coding.inside.wire import MAX_DEPTH, Decoder, Encoder, NotPlainError, dumps, loads

PLAIN = [
    None, True, False, 0, 1, -1, 2**63, -(2**63), 10**5000, 1.5, -0.0, math.inf, -math.inf, 1e-320, 2 + 3j, complex(-0.0, math.inf), "", 'é\ud800\x00"\\', b"\x00\xff",
    bytearray(b"ab"), [], [1, [2, (3,)]], (), (1, "1", 1.0, True), {1: "a", "1": [2], (1, 2): {3}}, {1, "a", None}, frozenset({(1, 2), frozenset()}),
    range(1, 9, 2), Counter("aab"), OrderedDict([(2, 1), (1, 2)]), deque([1, 2], 3), array("d", [1.5]), Decimal("1.10"), Fraction(1, 3), date(2024, 2, 29),
    datetime(2024, 2, 29, 1, 2, 3, 4), timedelta(1, 2, 3), int, len, ValueError, type(None),
]  # fmt: skip


def there_and_back(value):
    return Decoder().decode(loads(dumps(Encoder().encode(value))))


def deep_types(value):
    if isinstance(value, dict):
        return [type(value), [(deep_types(k), deep_types(v)) for k, v in value.items()]]
    return [type(value), sorted(str(deep_types(i)) for i in value)] if isinstance(value, list | tuple | set | frozenset) else type(value)


@pytest.mark.parametrize(
    # by type: sets are printed in an order of their own in every process, and two processes must see the same names
    "value",
    PLAIN,
    ids=lambda v: type(v).__name__,
)
def test_a_value_comes_back_as_it_went_and_both_json_readers_agree(value):
    back = there_and_back(value)
    assert deep_types(back) == deep_types(value)
    assert back == value
    assert math.copysign(1, back) == math.copysign(1, value) if type(value) is float else True
    # the parent reads with json what the sandbox wrote with its own scanner
    assert dumps(json.loads(dumps(Encoder().encode(value)))) == dumps(Encoder().encode(value))


def test_nan_and_a_default_dict_survive():
    assert math.isnan(there_and_back(math.nan))
    assert there_and_back(defaultdict(list, {1: [2]})) == {1: [2]}


def test_one_object_stays_one_object():
    inner = [1]
    back = there_and_back([inner, inner, (inner,)])
    back[0].append(2)
    assert back == [[1, 2], [1, 2], ([1, 2],)]


def test_containers_that_are_already_here_are_filled_in_place():
    mine = [3, 1, 2]
    encoder = Encoder()
    encoder.encode([mine])
    numbers = {id(v): n for v, n in ((mine, encoder.numbers[id(mine)]),)}
    changed = Encoder(numbers)
    theirs = sorted(mine)
    changed.numbers = {id(theirs): numbers[id(mine)]}
    assert Decoder({numbers[id(mine)]: mine}).decode(changed.encode(theirs)) is mine
    assert mine == [1, 2, 3]


class Sly(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Liar:
    __class__ = int  # type: ignore[assignment]


def deep(n):
    value: list = []
    for _ in range(n):
        value = [value]
    return value


LOOP: list = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    "value",
    [
        Sly(1),
        [Sly(1)],
        {Sly(1): 2},
        Liar(),
        object(),
        lambda: 1,
        open,
        eval,
        exec,
        iter([1]),
        LOOP,
        deep(MAX_DEPTH + 5),
        type("int", (), {})(),
    ],
    ids=lambda v: type(v).__name__,
)
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(NotPlainError):
        Encoder().encode(value)


@pytest.mark.parametrize(
    "frame", [["q", 1], ["g", "eval"], ["g", "open"], ["x", "Popen", 0, []], {"a": 1}, ["l"], ["o", "call", 0], ["r", 7], [], [1]]
)
def test_what_is_no_value_is_refused(frame):
    with pytest.raises((ValueError, TypeError, KeyError, IndexError)):
        Decoder().decode(frame)


def wire(value):
    return json.loads(json.dumps(Encoder().encode(value)))


@pytest.mark.parametrize("value", [v for v in PLAIN[:26] if not isinstance(v, bytearray)] + [math.nan], ids=lambda v: str(type(v).__name__))
def test_a_value_is_the_same_as_itself(value):
    assert same(wire(value), wire(value))


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (1, True), (True, 1), (0, False), (1, 1.0), (1.0, 1), (0, None), ("1", 1), ("a", b"a"), ([1], (1,)), ((1,), [1]), ([1, 2], [2, 1]), ([1], [1, 1]), ([], None),
        ({1: 2}, [[1, 2]]), ({1: 2}, {1: 3}), ({1: 2}, {1: 2, 3: 4}), ({1: 2}, {True: 2}), ({1, 2}, [1, 2]), ({1, 2}, frozenset({1, 2})), ({1}, {True}),
        (0.1 + 0.2, 0.3), (2**70, 2**70 + 1), (1 + 2j, 1 - 2j), (math.inf, -math.inf), (math.nan, 0.0), ({1: 2}, Counter({1: 2})), ("é", "e\u0301"),
    ],
)  # fmt: skip
def test_values_that_python_or_a_careless_eye_takes_for_equal(expected, answer):
    assert not same(wire(expected), wire(answer))


@pytest.mark.parametrize(
    ("expected", "answer", "options", "verdict"),
    [
        (0.3, 0.1 + 0.2, {"tolerance": 1e-9}, True),
        (2.0, 2, {"tolerance": 1e-9}, True),
        (1.0, True, {"tolerance": 1e-9}, False),
        (2, 2.0, {"tolerance": 1e-9}, False),  # an int was asked for
        (1e12, 1e12 + 1, {"tolerance": 1e-9}, True),  # relative: 1e-12
        (0.0, 1e-8, {"tolerance": 1e-9}, False),
        (math.inf, 1e308, {"tolerance": 0.5}, False),
        ([[1.0]], [[1.0 + 1e-12]], {"tolerance": 1e-9}, True),
        ([1, [2]], (1, (2,)), {"tuple_as_list": True}, True),
        ((1,), [1], {"tuple_as_list": True}, False),
        ({1: {2, 3}, 4: [5]}, {4: [5], 1: {3, 2}}, {}, True),  # neither dicts nor sets have an order
        (0.0, -0.0, {}, True),
        ({0.0}, {-0.0}, {}, True),
        ({frozenset({1, 2})}, {frozenset({2, 1})}, {}, True),
    ],
)
def test_declared_latitude(expected, answer, options, verdict):
    assert same(wire(expected), wire(answer), **options) is verdict


def test_a_shared_list_is_compared_wherever_it_stands():
    inner = [1]
    assert same(wire([[1], [1]]), wire([inner, inner]))
    assert not same(wire([[1], [2]]), wire([inner, inner]))


def test_chosen_integers_cost_the_parent_nothing():
    # As a set these would take quadratic time: all have the same hash.
    colliding = ["s", 0, [["i", hex(n * (2**61 - 1))] for n in range(8, 40_000)]]
    assert not same(wire({1, 2}), colliding)
    assert same(colliding, colliding)


@pytest.mark.parametrize(
    "answer", [["r", 5], ["l", 0, 7], ["l"], ["d", 0, [1]], ["i", 5], ["l", [], [1]], {"l": 1}, [[]], ["c", "a", "b"], ["s", 0, [{}]]]
)
def test_broken_answers_are_just_wrong(answer):
    for expected in ([1], {1: 2}, {1}, 2**70, 1j, (1,)):
        assert not same(wire(expected), answer)
