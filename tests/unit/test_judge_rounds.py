"""What a judge is asked about a round, decided by ids alone; and which checkpoints may score another's tokens."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pyarrow as pa
import pytest

from jobs.care.closed import Closed
from jobs.care.handoffs import clear_runs
from jobs.config import ConfigError, load_config
from jobs.handoff.policies import NoCheckpointError
from jobs.judge_round import NoJudgeError, judge_identity
from jobs.lake.layout import Lake
from jobs.rescore_round import RescoreRefusedError, refuse_strangers
from schemas.handoff import JUDGE_SHARD
from schemas.ids import content_id
from schemas.policy import Policy
from tests.engine_runs import lay_run
from tests.published_rounds import lay, put
from udfs.judging.batches import ANSWERS, judge_items
from udfs.judging.choose import Answer, Asking, items_of, ring

ASKING = Asking(
    round=3, kind="pairwise", judge="j", seed=7, share=1.0, per_prompt=8, pairs_per_prompt=8, draws=1, show_reference=True
)  # fmt: skip


def answers(count):
    return [Answer(content_id("t", k), "Why?", "42", f"because {k}") for k in range(count)]


@pytest.mark.parametrize("count", range(9))
def test_a_ring_holds_every_pair_once_and_its_beginning_treats_all_alike(count):
    whole = ring(count, 1000)
    assert sorted(whole) == list(combinations(range(count), 2))
    for most in range(len(whole) + 1):
        seen = Counter(place for pair in ring(count, most) for place in pair)
        assert len(ring(count, most)) == most
        assert not count or max(seen[k] for k in range(count)) - min(seen[k] for k in range(count)) <= 2


@pytest.mark.parametrize(
    ("changes", "count", "items"),
    [
        ({}, 4, 2 * 6),  # 4 over 2 pairs, each in both orders
        ({"pairs_per_prompt": 3}, 4, 2 * 3),
        ({"per_prompt": 3}, 8, 2 * 3),
        ({"draws": 3}, 2, 2 * 3),
        ({}, 1, 0),  # nothing to compare with
        ({"kind": "pointwise"}, 4, 4),
        ({"kind": "pointwise", "per_prompt": 3, "draws": 2}, 4, 6),
        ({"share": 0.0}, 4, 0),
    ],
)
def test_so_many_items_are_asked_about(changes, count, items):
    made = list(items_of(replace(ASKING, **changes), "g", answers(count)))
    assert len(made) == items
    assert len({row["judgement_id"] for row in made}) == items == len({row["seed"] for row in made})


def test_a_pair_is_asked_about_in_both_orders_under_the_lower_id_first():
    made = list(items_of(ASKING, "g", answers(3)))
    pairs = Counter((row["trajectory_a"], row["trajectory_b"]) for row in made)
    assert set(pairs.values()) == {2}
    assert all(a < b for a, b in pairs)
    text = {answer.trajectory_id: answer.response for answer in answers(3)}
    assert all((row["response_a"], row["response_b"]) == (text[row["trajectory_a"]], text[row["trajectory_b"]]) for row in made)
    first = made[0]
    # the id as the column of bronze.judgements says, whatever the share and the caps are
    assert first["judgement_id"] == content_id(
        "pairwise", first["trajectory_a"], first["trajectory_b"], False, "judge_pairwise@1", "j", 0
    )  # fmt: skip


@pytest.mark.parametrize("changes", [{}, {"kind": "pointwise", "per_prompt": 2}, {"pairs_per_prompt": 2, "per_prompt": 3}], ids=str)
def test_neither_the_order_of_answers_nor_that_of_columns_matters(changes):
    asking = replace(ASKING, **changes)
    rows = [{"group_id": "g", **{name: getattr(a, name) for name in ANSWERS.names[1:]}} for a in answers(6)]
    tables = [pa.Table.from_pylist(part, schema=ANSWERS) for part in (rows, rows[::-1])]
    there, back = (judge_items(asking, table.select(ANSWERS.names[::-1])) for table in tables)
    assert there.schema == JUDGE_SHARD
    assert there.equals(back)


def test_a_reference_is_shown_where_the_judge_may_see_it():
    assert {row["reference"] for row in items_of(ASKING, "g", answers(2))} == {"42"}
    assert {row["reference"] for row in items_of(replace(ASKING, show_reference=False), "g", answers(2))} == {None}


def test_a_share_of_prompts_is_chosen_by_their_ids():
    half = replace(ASKING, share=0.5, kind="pointwise")
    chosen = [name for name in map(str, range(400)) if list(items_of(half, name, answers(1)))]
    assert 160 < len(chosen) < 240  # 200 expected, standard deviation 10
    fewer = [name for name in map(str, range(400)) if list(items_of(replace(half, share=0.25), name, answers(1)))]
    assert set(fewer) < set(chosen)  # a larger share asks further about the same prompts


@pytest.mark.parametrize(
    ("overrides", "error"),
    [([], NoJudgeError), (["judge.engine=vllm"], NoJudgeError), (["judge.engine=vllm", "judge.model=/nowhere"], NoCheckpointError)],
    ids=["nobody", "no checkpoint", "no such directory"],
)
def test_a_judge_must_be_named(overrides, error):
    with pytest.raises(error, match=r"judge\.model"):
        judge_identity(load_config(overrides=overrides).judge)


def test_a_checkpoint_that_judges_is_named_by_its_files(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    named = [judge_identity(load_config(overrides=["judge.engine=vllm", f"judge.model={tmp_path}"]).judge)]
    (tmp_path / "config.json").write_text('{"layers": 2}')
    named.append(judge_identity(load_config(overrides=["judge.engine=vllm", f"judge.model={tmp_path}"]).judge))
    assert named[0] != named[1]
    assert judge_identity(load_config(overrides=["judge.model=some-name"]).judge) == "some-name"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("judge.roles=[]", "judge.roles"),
        ('judge.kind="trio"', "judge.kind"),
        ("judge.draws=0", "judge.draws"),
        ('agent.environments={ code = "moon" }', "agent.environments"),
        ('agent.environments={ code = "python_tests" }', "needs a model that can call tools"),
        ("agent.limits.memory_mb=1", "agent.limits.memory_mb"),
        ("sandbox.allow_strong=true", "unknown key"),
    ],
)
def test_wrong_settings_are_told(override, message):
    with pytest.raises(ConfigError, match=message):
        load_config(overrides=[override])


def policy(folder, engine="vllm", tokenizer=None):
    folder.mkdir()
    if tokenizer is not None:
        (folder / "tokenizer.json").write_text(tokenizer)
    return Policy(engine=engine, policy_id=folder.name, policy_version=1, model=str(folder))


@pytest.mark.parametrize(
    ("sampled", "scoring", "refused"),
    [
        ({}, {}, None),
        ({"tokenizer": "one"}, {"tokenizer": "one"}, None),
        ({"tokenizer": "one"}, {"tokenizer": "two"}, "different tokenizer.json"),
        ({}, {"engine": "openai"}, "checkpoint scoring is served by engine 'openai'"),
        ({"engine": "reader"}, {}, "the round's policy sampled is served by engine 'reader'"),
    ],
    ids=["unknown tokenizers", "one tokenizer", "two tokenizers", "a server scores", "the reader sampled"],
)
def test_only_a_checkpoint_of_the_same_family_in_vllm_can_score(tmp_path, sampled, scoring, refused):
    both = policy(tmp_path / "sampled", **sampled), policy(tmp_path / "scoring", **scoring)
    if refused is None:
        refuse_strangers(*both)
    else:
        with pytest.raises(RescoreRefusedError, match=refused):
            refuse_strangers(*both)


def test_runs_of_judges_and_agents_are_cleared_once_the_lake_holds_them_and_their_round_is_closed(tmp_path):
    workspace = lay(tmp_path / "ws")
    put(workspace, "bronze.judgements", "r1", {"run_id": "r1", "round": 1, "judgement_id": "j", "kind": "pointwise", "verdict": "tie"})
    put(workspace, "bronze.rollouts", 1, {"run_id": "r1", "round": 1, "prompt_id": "p"})
    for program in ("agent", "judge", "logprobs"):
        for round_no in (1, 2):
            lay_run(workspace.handoff_root / program / f"run={round_no}", program, "vllm", {}, None, {}, round=round_no)
    later = datetime.now(UTC) + timedelta(hours=1)
    # Rounds 1 and 2 are closed; what logprobs scored in round 1 was never taken in, and of round 2 the lake holds only the judgements.
    done = Closed(frozenset({"1", "2"}), frozenset(), corpus=True)
    freed = clear_runs(workspace, Lake(workspace.lake_root), done, later, dry_run=True)
    assert [found.what for found in freed] == ["handoff/agent/run=1", "handoff/judge/run=1", "handoff/judge/run=2"]
    nothing = Closed(frozenset(), frozenset(), corpus=True)
    assert clear_runs(workspace, Lake(workspace.lake_root), nothing, later, dry_run=True) == []
