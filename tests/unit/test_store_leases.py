"""Which item deaths point at: tables of who was in flight."""

from __future__ import annotations

import pytest

from udfs.store.leases import Deaths


def after(*in_flight):
    made = Deaths()
    for keys in in_flight:
        made.add(tuple(keys))
    return made


@pytest.mark.parametrize(
    ("in_flight", "poison", "suspects"),
    [
        ([], "", []),
        (["a"], "", []),
        (["a", "a"], "a", ["a"]),  # what is poison is not tried again; the caller takes it out first
        (["a", "b"], "", []),  # two preemptions at two items
        (["abcd"], "", []),
        (["abcd", "abcd"], "", ["abcd"]),
        (["abcd", "cdef"], "", ["cd"]),
        (["abcd", "abcd", "ab"], "", ["cd", "ab"]),  # the least suspect first
        (["abcd", "abcd", "ab", "a"], "", ["cd", "b", "a"]),
        (["abcd", "abcd", "ab", "a", "a"], "a", ["cd", "b", "a"]),
        ([""], "", []),
        (["", ""], "", ["abcdef"]),  # nobody was named: all of them
        (["", "", "ab"], "", ["cdef", "ab"]),
        (["", "a"], "", ["a"]),
    ],
)
def test_poison_and_suspects(in_flight, poison, suspects):
    found = after(*in_flight)
    assert found.poison() == set(poison)
    assert [sorted(rank) for rank in found.suspects("abcdef")] == [sorted(rank) for rank in suspects]


@pytest.mark.parametrize(
    ("before", "then", "more"),
    [
        ([], "abcd", False),  # the first death tells nothing: it may have been a preemption
        (["abcd"], "abcd", True),  # suspects
        (["a"], "a", True),  # poison
        (["a"], "b", False),
        (["abcd", "abcd"], "ab", True),
        (["abcd", "abcd"], "abcd", False),  # as before
        (["abcd", "abcd"], "ef", False),
        (["abcd", "abcd", "ef"], "ef", True),  # others are suspects now, too
        (["abcd", "abcd", "ab"], "cd", False),  # all of their rank: not tried apart
        (["abcd", "abcd", "ab"], "c", True),
        (["", ""], "ab", True),
        (["", ""], "", False),
        ([], "", False),
    ],
)
def test_a_death_that_tells_more_is_no_standing_still(before, then, more):
    assert after(*before).tell_more_with(then) is more
