"""Scores and digests of rounds, over small lakes whose counts are worked out by hand."""

from __future__ import annotations

import pytest

from jobs.lake.errors import MissingInputError
from jobs.views.paired import pair, score, score_by_type
from jobs.views.reader import LakeReader
from jobs.views.scores import COLLECTED, FIXED, EvalItem, digest_of, eval_digests, eval_items, round_scores
from schemas.conf import Eval
from schemas.ids import content_id
from tests.held_out_rounds import ROWS, add_round, contract, laid
from tests.published_rounds import put

SETTINGS = Eval(bootstrap=500, confidence=0.95)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    workspace = laid(tmp_path_factory.mktemp("scores") / "ws")
    add_round(workspace, 1)
    add_round(workspace, 2, policy="reader-2")
    add_round(workspace, 3, {p: row for p, row in ROWS.items() if p != "x2"}, verifier=("contract", "2"))
    return LakeReader.open(workspace)


def test_a_digest_leaves_out_the_policy_and_fresh_prompts_and_covers_the_rest(reader):
    first, second, third = (eval_digests(reader, number) for number in (1, 2, 3))
    assert first == second
    assert first[0] != third[0]  # another verifier
    assert first[1] != third[1]
    items = eval_items(reader, 1)
    assert [i.prompt_id for i in items[FIXED]] == ["e1", "e2", "e3", "e4"]
    assert [i.prompt_id for i in items[COLLECTED]] == ["x1", "x2"]
    assert items[FIXED][0] == EvalItem("e1", 4, 7, contract("e1"), ("s" * 32,), ("contract@1",))


def test_the_digest_is_a_content_id_over_its_items_in_order_of_the_prompts():
    items = [EvalItem("b", 8, 2, "{}", ("s",), ("v@1",)), EvalItem("a", 8, 1, "{}", ("s",), ("v@1",))]
    assert digest_of(items) == content_id("eval", [["a", 8, 1, "{}", ["s"], ["v@1"]], ["b", 8, 2, "{}", ["s"], ["v@1"]]])
    assert digest_of(items) == digest_of(reversed(items))


@pytest.mark.parametrize("change", [{"n_samples": 9}, {"seed": 3}, {"contract": "{ }"}, {"sampling": ("t",)}, {"verifiers": ("v@2",)}])
def test_each_part_of_an_item_changes_the_digest(change):
    item = {"prompt_id": "a", "n_samples": 8, "seed": 1, "contract": "{}", "sampling": ("s",), "verifiers": ("v@1",)}
    assert digest_of([EvalItem(**item)]) != digest_of([EvalItem(**(item | change))])


def test_a_score_is_the_mean_over_prompts_and_a_prompt_without_a_known_sample_is_named_not_counted_as_wrong(reader):
    scores = round_scores(reader, 1)
    assert [(p.prompt_id, p.k, p.n_valid, p.n, p.cluster_id, p.task_type) for p in scores.fixed] == [
        ("e1", 1, 4, 4, "c1", "cloze_year"), ("e2", 3, 3, 4, "c1", "cloze_year"), ("e3", 0, 0, 4, "c2", "cloze_name"), ("e4", 2, 4, 4, "c3", "cloze_name"),
    ]  # fmt: skip
    found = score(scores.fixed, SETTINGS, "any")
    assert found.score.estimate == pytest.approx((0.25 + 1.0 + 0.5) / 3)
    assert (found.score.prompts, found.score.clusters, found.unknown) == (3, 2, ("e3",))
    assert score(scores.collected, SETTINGS, "any").score.estimate == pytest.approx(0.125)
    assert {kind: s.score.estimate for kind, s in score_by_type(scores.fixed, SETTINGS, "any").items()} == {
        "cloze_name": 0.5,
        "cloze_year": 0.625,
    }
    assert scores.policies == ("reader-1",)


def test_a_planned_prompt_that_nothing_was_delivered_for_stays_in_the_set(tmp_path):
    workspace = laid(tmp_path / "ws")
    add_round(workspace, 1, {"e1": ROWS["e1"]})
    put(
        workspace,
        "gold.round_plan",
        1,
        {"round": 1, "prompt_id": "e2", "task_id": "t-e2", "task_version": 1, "role": "eval", "why": "eval_fixed", "n_samples": 4},
    )
    scores = round_scores(LakeReader.open(workspace), 1)
    assert [(p.prompt_id, p.n) for p in scores.fixed] == [("e1", 4), ("e2", 0)]
    assert score(scores.fixed, SETTINGS, "any").unknown == ("e2",)


def test_a_pair_is_over_the_prompts_that_both_know(reader):
    first = round_scores(reader, 1).fixed
    second = [p for p in first if p.prompt_id != "e1"]
    found = pair(first, second, SETTINGS, "any")
    assert (found.difference.estimate, found.difference.prompts) == (0.0, 2)
    assert (found.first.prompts, found.second.prompts) == (3, 2)


def test_a_round_that_is_not_there_and_one_that_is_not_closed_name_the_verb(reader, tmp_path):
    with pytest.raises(MissingInputError, match="verilake plan --round 9"):
        eval_digests(reader, 9)
    workspace = laid(tmp_path / "ws")
    put(workspace, "gold.round_plan", 1, {"round": 1, "prompt_id": "e1", "role": "eval", "why": "eval_fixed", "n_samples": 4})
    for measure in (eval_digests, round_scores):
        with pytest.raises(MissingInputError, match="verilake feedback --round 1"):
            measure(LakeReader.open(workspace), 1)
