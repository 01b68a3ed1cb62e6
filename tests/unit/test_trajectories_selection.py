"""Supervised rows and preference pairs: who may be chosen, distinct texts, total order."""

from __future__ import annotations

import itertools

import pytest

from udfs.trajectories.selection import Candidate, choose_pairs, choose_sft


def candidate(ident, response, reward, state="accepted"):
    return Candidate(ident, response, reward, state, "contract@1")


GROUP = [
    candidate("a", "Because of the sign.\nAnswer: Zürich", 1.0),
    candidate("b", "Answer: Zürich", 1.0),
    candidate("c", "ANSWER:  zu\u0308rich", 1.0),  # b again, in another composition
    candidate("d", "Answer: Bern", 0.0),
    candidate("e", "answer: bern", 0.0, "flagged"),
    candidate("f", "Bern or Basel", 0.0, "flagged"),
    candidate("g", "Answer: Genf", 0.0, "rejected"),
    candidate("h", "Answer: Chur", None, "rejected"),
    candidate("i", "Answer: half", 0.5),
    candidate("j", "Zürich!", 1.0, "flagged"),
    candidate("k", "Zürich?", 1.0, "rejected"),
]


def test_sft_takes_the_shortest_accepted_right_texts():
    assert [c.trajectory_id for c in choose_sft(GROUP, 9)] == ["b", "a"]
    assert [c.trajectory_id for c in choose_sft(GROUP, 1)] == ["b"]
    assert choose_sft(GROUP, 0) == []
    assert choose_sft([c for c in GROUP if c.reward != 1.0], 5) == []


def test_pairs():
    pairs = [(p.chosen.trajectory_id, p.rejected.trajectory_id, p.gap) for p in choose_pairs(GROUP, 9, 0.5)]
    # worst first, then shortest, each loser once, winners in turn; half a reward is a gap of exactly the bound
    assert pairs == [("b", "d", 1.0), ("a", "f", 1.0), ("b", "i", 0.5)]
    assert len(choose_pairs(GROUP, 2, 0.5)) == 2
    assert [p.rejected.trajectory_id for p in choose_pairs(GROUP, 9, 0.6)] == ["d", "f"]


@pytest.mark.parametrize(
    "group",
    [
        [],
        GROUP[:3],
        GROUP[3:6],
        [candidate("x", "same", 1.0), candidate("y", "SAME", 0.0)],
        [candidate("x", "", 1.0), candidate("y", "no", 0.0)],
    ],
)
def test_no_pair_without_two_distinct_texts_of_unequal_reward(group):
    assert choose_pairs(group, 5, 0.5) == []


def test_order_of_arrival_does_not_matter():
    small = [GROUP[i] for i in (0, 1, 2, 3, 4, 8)]
    assert len({tuple(choose_pairs(list(o), 5, 0.5)) for o in itertools.permutations(small)}) == 1
    assert len({tuple(choose_sft(list(o), 5)) for o in itertools.permutations(small)}) == 1
