"""The three stations after a rollout, on a small round with everything that can be wrong in it."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from jobs import check_quality, feed_back, ingest_rollouts
from jobs.check.metrics import facts
from jobs.config import load_config
from jobs.context import JobContext
from jobs.feedback.repair import next_versions
from jobs.lake.checksum import checksum_of
from jobs.lake.migrate import create_tables
from jobs.lake.write import SliceWrite, write_slice
from jobs.plan.candidates import in_force
from jobs.rounds import is_closed
from jobs.workspace import Workspace
from schemas.bronze.rollouts import ROLLOUTS
from schemas.contract import AnswerContract
from schemas.gold.alerts import ALERTS
from schemas.gold.preferences import PREFERENCES
from schemas.gold.prompts import PROMPTS
from schemas.gold.regression import REGRESSION
from schemas.gold.repair_queue import REPAIR_QUEUE
from schemas.gold.round_metrics import ROUND_METRICS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.sft import SFT
from schemas.gold.tasks import TASKS
from schemas.gold.worker_metrics import WORKER_METRICS
from schemas.silver.calls import CALLS
from schemas.silver.interactions import INTERACTIONS
from schemas.silver.rewards import REWARDS
from schemas.silver.task_stats import TASK_STATS
from schemas.silver.tokens import TOKENS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS
from tests.conftest import NOW
from udfs.grading import VERIFIER, VERSION
from udfs.trajectories.grading_batch import trajectory_id
from udfs.trajectories.summary import sampling_hash

pytestmark = pytest.mark.spark

#: The round under test is the second, so that there is an earlier one to pool with.
ROUND = 2
RUN = f"run-{ROUND}"

CAPITALS = AnswerContract(type="text", gold="Zürich")
OPTIONS = ("Bern", "Zürich", "Basel", "Genf")
#: prompt -> (role, context_mode, split, contract, answers of samples 0..7)
WORLD: dict[str, tuple[str, str, str, AnswerContract, list[str]]] = {
    "mixed": ("train", "closed_book", "train", CAPITALS, ["Answer: Zürich", "Answer: ZU\u0308RICH", "Answer: Bern", "Answer: Bern", "Answer: Basel", "no idea at all", "", "Answer: Zürich"]),
    "solved": ("train", "closed_book", "train", CAPITALS, ["Answer: Zürich"] * 8),
    "contradicted": ("train", "closed_book", "train", CAPITALS, ["Answer: Bern"] * 6 + ["Answer: Zürich", "Answer: Basel"]),
    "choice": ("train", "choice", "train", AnswerContract(type="choice", gold="B", options=OPTIONS), ["Answer: B"] * 5 + ["Answer: A"] * 3),
    "form": ("train", "closed_book", "train", AnswerContract(type="text", gold="Zürich", format="one_word"), ["Zürich", "Answer: Zürich"] * 4),
    "held_out": ("eval", "closed_book", "eval", CAPITALS, ["Answer: Bern"] * 8),
    "probe": ("probe", "open_book", "train", CAPITALS, ["Answer: Bern"] * 8),
    "broken_gold": ("train", "closed_book", "train", AnswerContract(type="number", gold="several"), ["Answer: 3"] * 8),
    "sick": ("train", "closed_book", "train", CAPITALS, ["Answer: Zürich"] * 8),
}  # fmt: skip


def contract_of(name):
    return WORLD[name][3].canonical()


def task_row(name):
    _, _, split, contract, _ = WORLD[name]
    return {
        "task_id": f"t-{name}", "version": 1, "origin": "ingest=i", "kind": f"kind_{name}", "source_kind": "corpus", "split": split, "allowed_roles": ["train"],
        "subject": "s", "question": f"Where is {name}?", "answer": contract.gold, "answer_type": contract.type, "contract": contract.canonical(), "verifier": "v",
        "cluster_id": "c", "domain": "d", "stage": 1, "status": "active", "status_reason": None, "qa_id": "q", "doc_id": "d", "evidence_start": 0,
        "evidence_end": 1, "parent_task_id": None, "distractors": "[]", "licence": "CC0" if name == "mixed" else None,
    }  # fmt: skip


def prompt_row(name):
    _, mode, _, contract, _ = WORLD[name]
    options = '["Bern","Zürich","Basel","Genf"]' if contract.options else "[]"
    return {
        "prompt_id": f"p-{name}", "origin": "ingest=i", "task_id": f"t-{name}", "task_version": 1, "form": mode, "template": f"{mode}@1", "context_mode": mode,
        "system": "" if name == "solved" else "Be brief.", "text": f"Where is {name}?", "context": None, "options": options, "contract": contract.canonical(),
    }  # fmt: skip


def plan_row(name):
    role, mode, _, _, _ = WORLD[name]
    return {
        "round": ROUND, "prompt_id": f"p-{name}", "task_id": f"t-{name}", "task_version": 1, "role": role, "task_type": f"kind_{name}", "context_mode": mode,
        "n_samples": 8, "weight": 1.0, "seed": 1, "policy_id": "pol", "why": "w", "evidence": "{}",
    }  # fmt: skip


def rollout_row(prompt, index, text, **change: Any):
    made = NOW + timedelta(minutes=index)
    return {
        "run_id": RUN, "round": ROUND, "prompt_id": prompt, "sample_index": index, "dialect": "verilake", "engine": "reader",
        "engine_version": "1", "policy_id": "pol", "policy_version": 3, "seed": index, "temperature": 1.0, "top_p": 1.0, "logprobs_mode": "processed",
        "prompt_text": f"<{prompt}>", "response_text": text, "prompt_token_ids": [1, 2, 3], "response_token_ids": [7] * (1 + len(text or "")),
        "response_logprobs": [-0.25] * (1 + len(text or "")), "finish_reason": "stop", "failure_class": None, "worker_id": f"w{index % 2}", "attempt": 1,
        "started_at": made, "finished_at": made + timedelta(milliseconds=1500), "raw": "{}", **change,
    }  # fmt: skip


def rollouts():
    rows = [rollout_row(f"p-{name}", i, text) for name, world in WORLD.items() if name != "sick" for i, text in enumerate(world[4])]
    nothing = {"response_text": None, "response_token_ids": None, "response_logprobs": None, "finish_reason": "error"}
    rows += [
        rollout_row("p-sick", 0, "Answer: Zürich"),
        rollout_row("p-sick", 1, "", **nothing, failure_class="engine_dead"),
        rollout_row("p-sick", 2, "Answer: Zürich", response_logprobs=[-0.5]),
        rollout_row("p-sick", 3, "Answer: Zürich", response_logprobs=[0.5] * 15),
        rollout_row("p-sick", 4, "Answer: Zürich"),
        rollout_row("p-sick", 4, "Answer: Bern"),  # delivered twice
        rollout_row("p-sick", 9, "Answer: Zürich"),  # not asked for
        rollout_row("p-sick", 5, "Answer: Zürich", response_logprobs=None),
        rollout_row("p-sick", 6, "Answer: Zür", finish_reason="length"),
        rollout_row("p-nobody-planned", 0, "Answer: Zürich"),
    ]
    return rows


def fill(ctx, table, slice_value, rows, partitions=2):
    frame = ctx.spark.createDataFrame(pa.Table.from_pylist(rows, schema=table.schema)).repartition(partitions)
    intent = SliceWrite(table=table, slice=str(slice_value), fingerprint=f"f{slice_value}", job="test")
    write_slice(ctx.spark, ctx.lake, intent, lambda: frame)


def context(spark, root):
    workspace = Workspace.init(root)
    return JobContext(workspace, load_config(workspace.root), now=NOW, job_run_id="test", session=spark)


def earlier_row(name, n_valid, k, **change: Any):
    """What a former checkpoint did on the prompt in round 1."""
    return {
        "prompt_id": f"p-{name}", "policy_id": "former", "sampling_hash": sampling_hash(1.0, 1.0, "processed", "reader"), "context_mode": "closed_book",
        "round": 1, "task_id": f"t-{name}", "task_type": f"kind_{name}", "role": "train", "n": n_valid, "n_valid": n_valid, "k": k, "pooled_n": n_valid,
        "pooled_k": k, "guess_rate": 0.0, "posterior_alpha": 1.0, "posterior_beta": 1.0, "posterior_mean": 0.5, "p_in_band": 0.5, "reward_mean": None,
        "reward_std_unbiased": None, "reward_std_population": None, "zero_variance": False, "majority_answer": None, "majority_count": 0,
        "majority_is_gold": None, **change,
    }  # fmt: skip


def build(ctx, *, partitions, reverse):
    fill(ctx, TASKS, "ingest=i", [task_row(n) for n in WORLD])
    fill(ctx, PROMPTS, "ingest=i", [prompt_row(n) for n in WORLD])
    fill(
        ctx,
        TASK_STATS,
        1,
        [earlier_row("mixed", 16, 5), earlier_row("mixed", 8, 8, sampling_hash="another temperature"), earlier_row("solved", 8, 7)],
    )
    fill(ctx, ROUND_PLAN, ROUND, [plan_row(n) for n in WORLD], partitions)
    rows = rollouts()
    fill(ctx, ROLLOUTS, ROUND, rows[::-1] if reverse else rows, partitions)
    for job in (ingest_rollouts, check_quality, feed_back):
        job.run(ctx, ROUND)
    return ctx


@pytest.fixture(scope="module")
def contexts(spark, tmp_path_factory):
    """Two workspaces with empty tables; the second is a copy, because creating them all takes a while."""
    folder = tmp_path_factory.mktemp("trajectories")
    first = context(spark, folder / "a")
    create_tables(spark, first.lake)
    shutil.copytree(folder / "a", folder / "b")
    return first, context(spark, folder / "b")


@pytest.fixture(scope="module")
def lake(contexts):
    return build(contexts[0], partitions=2, reverse=False)


@pytest.fixture(scope="module")
def other(contexts):
    """The same round, delivered in another order and in other partitions."""
    return build(contexts[1], partitions=5, reverse=True)


def rows_of(ctx, table):
    return [r.asDict(recursive=True) for r in ctx.read(table, ROUND).collect()]


def by_prompt(rows, name):
    return sorted((r for r in rows if r["prompt_id"] == f"p-{name}"), key=lambda r: r.get("sample_index", 0))


def test_every_rollout_is_one_trajectory_with_one_verdict_and_one_outcome(lake):
    delivered = len(rollouts())
    trajectories = rows_of(lake, TRAJECTORIES)
    ids = {t["trajectory_id"] for t in trajectories}
    assert len(trajectories) == len(ids) == delivered
    for table in (TRAJECTORY_VERDICTS, CALLS):
        assert Counter(r["trajectory_id"] for r in rows_of(lake, table)) == Counter(ids)
    assert Counter(r["trajectory_id"] for r in rows_of(lake, REWARDS) if r["is_outcome"]) == Counter(ids)
    assert Counter(r["trajectory_id"] for r in rows_of(lake, INTERACTIONS) if r["sampled"]) == Counter(ids)


def test_failures_are_named_and_have_no_reward(lake):
    sick = {(t["sample_index"], t["failure_class"]): t for t in by_prompt(rows_of(lake, TRAJECTORIES), "sick")}
    assert {k: t["status"] for k, t in sick.items()} == {
        (0, None): "completed", (1, "engine_dead"): "failed", (2, "bad_lengths"): "error", (3, "bad_logprobs"): "error", (4, None): "completed",
        (4, "duplicate_sample"): "error", (5, None): "completed", (6, None): "truncated", (9, "sample_out_of_range"): "error",
    }  # fmt: skip
    for (_, failure), row in sick.items():
        assert (row["outcome_reward"] is None) == (failure is not None)
        assert row["is_trainable"] == (failure is None and row["lossy"] == [])
    assert sick[(5, None)]["lossy"] == ["no_logprobs"]
    [stranger] = by_prompt(rows_of(lake, TRAJECTORIES), "nobody-planned")
    assert (stranger["role"], stranger["failure_class"], stranger["outcome_reward"]) == ("unplanned", "not_planned", None)
    verdicts = {r["trajectory_id"]: r["verdict"] for r in rows_of(lake, REWARDS) if r["is_outcome"]}
    assert {verdicts[t["trajectory_id"]] for t in by_prompt(rows_of(lake, TRAJECTORIES), "broken_gold")} == {"unparsable_gold"}


def test_turns_and_tokens(lake):
    turns = sorted(
        (r for r in rows_of(lake, INTERACTIONS) if r["trajectory_id"] == trajectory_id(RUN, "p-mixed", 1, 0)),
        key=lambda r: r["turn_index"],
    )
    assert [(t["turn_index"], t["parent_index"], t["role"], t["content"]) for t in turns] == [
        (0, -1, "system", "Be brief."), (1, 0, "user", "Where is mixed?"), (2, 1, "assistant", "Answer: ZU\u0308RICH"),
    ]  # fmt: skip
    bare = [r for r in rows_of(lake, INTERACTIONS) if r["trajectory_id"] == trajectory_id(RUN, "p-solved", 0, 0)]
    assert sorted((t["turn_index"], t["parent_index"], t["role"]) for t in bare) == [(0, -1, "user"), (1, 0, "assistant")]
    for row in rows_of(lake, TOKENS):
        n = len(row["token_ids"])
        sampled = row["response_mask"] == [1] * n
        assert sampled or row["response_mask"] == [0] * n
        assert row["policy_version"] == [3 if sampled else -1] * n
        assert row["rollout_log_probs"] is None or (sampled and len(row["rollout_log_probs"]) == n)
    [call] = [c for c in rows_of(lake, CALLS) if c["trajectory_id"] == trajectory_id(RUN, "p-mixed", 1, 0)]
    assert (call["call_id"], call["latency_ms"], call["prompt_tokens"]) == (turns[2]["call_id"], 1500.0, 3)


def test_verdicts(lake):
    index = {t["trajectory_id"]: (t["prompt_id"], t["sample_index"]) for t in rows_of(lake, TRAJECTORIES)}
    verdicts = {index[v["trajectory_id"]]: v for v in rows_of(lake, TRAJECTORY_VERDICTS) if v["failure_class"] != "duplicate_sample"}
    reasons = [verdicts[("p-mixed", i)]["reason"] for i in range(8)]
    # sample 5 is graded as the text it is; 6 is empty; 1 differs from 0 in case and composition alone, 7 is 0 again
    assert reasons == [
        "accepted",
        "duplicate_response",
        "accepted",
        "duplicate_response",
        "accepted",
        "accepted",
        "empty_response",
        "duplicate_response",
    ]
    assert verdicts[("p-sick", 6)]["reason"] == "truncated"
    assert verdicts[("p-form", 1)]["reason"] == "bad_format"
    assert verdicts[("p-broken_gold", 0)]["reason"] == "no_reward"
    assert {v["state"] for v in verdicts.values()} == {"accepted", "flagged", "rejected"}


def test_statistics(lake):
    stats = {r["prompt_id"]: r for r in rows_of(lake, TASK_STATS)}
    assert set(stats) == {f"p-{name}" for name in WORLD}
    mixed = stats["p-mixed"]
    # 3 of 8 right: mean 3/8, sum of squares 3 * (5/8)^2 + 5 * (3/8)^2 = 15/8; pooled 8 of 24, Jeffreys 8.5 / 25
    assert (mixed["n"], mixed["n_valid"], mixed["k"], mixed["reward_mean"]) == (8, 8, 3, 0.375)
    assert mixed["reward_std_unbiased"] == pytest.approx((15 / 8 / 7) ** 0.5, rel=1e-15)
    assert (mixed["posterior_mean"], mixed["majority_is_gold"], mixed["majority_count"]) == (8.5 / 25, True, 3)
    solved = stats["p-solved"]
    assert (solved["zero_variance"], solved["reward_std_unbiased"], solved["reward_std_population"]) == (True, 0.0, 0.0)
    # 5 of 8 among four options: 5 - 2 = 3 of 6 effective samples
    assert (stats["p-choice"]["guess_rate"], stats["p-choice"]["posterior_alpha"], stats["p-choice"]["posterior_beta"]) == (0.25, 3.5, 3.5)
    form = stats["p-form"]
    assert (form["k"], form["majority_is_gold"], form["majority_count"]) == (4, True, 8)
    gone = stats["p-broken_gold"]
    assert (gone["n"], gone["n_valid"], gone["k"], gone["reward_mean"], gone["zero_variance"], gone["majority_answer"]) == (
        8,
        0,
        0,
        None,
        False,
        None,
    )
    assert (stats["p-sick"]["n"], stats["p-sick"]["n_valid"]) == (7, 4)


def test_recent_rounds_are_pooled_across_checkpoints_but_not_across_samplings(lake):
    stats = {r["prompt_id"]: r for r in rows_of(lake, TASK_STATS)}
    assert (stats["p-mixed"]["pooled_n"], stats["p-mixed"]["pooled_k"]) == (8 + 16, 3 + 5)
    assert (stats["p-solved"]["pooled_n"], stats["p-solved"]["pooled_k"]) == (8 + 8, 8 + 7)
    assert (stats["p-choice"]["pooled_n"], stats["p-choice"]["pooled_k"]) == (8, 5)


def test_training_rows(lake):
    sft = {r["prompt_id"]: r for r in rows_of(lake, SFT)}
    assert set(sft) == {"p-mixed", "p-solved", "p-choice", "p-form", "p-sick"}  # neither eval, probe, doubted nor unknown
    assert (sft["p-mixed"]["response"], sft["p-mixed"]["licence"], sft["p-mixed"]["prompt"]) == ("Answer: Zürich", "CC0", "Where is mixed?")
    assert sft["p-form"]["response"] == "Zürich"
    pairs = rows_of(lake, PREFERENCES)
    assert Counter(r["prompt_id"] for r in pairs) == {"p-mixed": 2, "p-choice": 1, "p-form": 1, "p-sick": 1}
    mixed = [r for r in pairs if r["prompt_id"] == "p-mixed"]
    assert {(r["chosen"], r["rejected"]) for r in mixed} == {("Answer: Zürich", "Answer: Bern"), ("Answer: Zürich", "Answer: Basel")}
    assert {(r["score_gap"], r["judged_by"]) for r in pairs} == {(1.0, f"{VERIFIER}@{VERSION}")}
    rejected = {v["trajectory_id"] for v in rows_of(lake, TRAJECTORY_VERDICTS) if v["state"] == "rejected"}
    used = {r["trajectory_id"] for r in sft.values()} | {r[c] for r in pairs for c in ("chosen_trajectory_id", "rejected_trajectory_id")}
    assert used
    assert not used & rejected


def test_doubt_regression_and_the_next_version(lake):
    queue = rows_of(lake, REPAIR_QUEUE)
    # 8 of 8 of the eval task before 6 of 8 of the training task; the open-book probe only reports
    assert [(r["rank"], r["task_id"], r["majority_answer"], r["majority_count"]) for r in sorted(queue, key=lambda r: r["rank"])] == [
        (1, "t-held_out", "bern", 8), (2, "t-contradicted", "bern", 6),
    ]  # fmt: skip
    assert [(r["prompt_id"], r["n_valid"], r["k"], r["why"]) for r in rows_of(lake, REGRESSION)] == [("p-held_out", 8, 0, "all_wrong")]
    changed = [r.asDict() for r in lake.read(TASKS, f"feedback={ROUND}").collect()]
    assert [(r["task_id"], r["version"], r["status"], r["origin"]) for r in changed] == [
        ("t-contradicted", 2, "repair", f"feedback={ROUND}")
    ]
    assert changed[0]["status_reason"] == "majority_against_gold: 6 of 8 samples of round 2"
    newest = in_force(lake.read(TASKS))
    assert next_versions(lake.read(REPAIR_QUEUE, ROUND), newest, origin="feedback=3").count() == 0  # it is in repair already
    metrics = {(m["name"], m["slice_kind"], m["slice"]): m for m in rows_of(lake, ROUND_METRICS)}
    assert metrics[("probe_open_book_failed", "all", "all")]["numerator"] == 1


def test_figures_add_up_and_alerts_name_what_to_do(lake):
    metrics = {(m["name"], m["slice_kind"], m["slice"]): m for m in rows_of(lake, ROUND_METRICS)}
    delivered = len(rollouts())
    for kind in ("all", "task_type", "role", "context_mode", "template"):
        assert sum(m["numerator"] for (name, k, _), m in metrics.items() if (name, k) == ("samples", kind)) == delivered
    for kind in ("worker", "time_window"):
        assert sum(m["numerator"] for m in rows_of(lake, WORKER_METRICS) if (m["name"], m["slice_kind"]) == ("samples", kind)) == delivered
    everything = {name: m for (name, kind, _), m in metrics.items() if kind == "all"}
    stats = rows_of(lake, TASK_STATS)
    assert everything["solve_rate"]["numerator"] == sum(s["k"] for s in stats)
    assert everything["solve_rate"]["denominator"] == sum(s["n_valid"] for s in stats)
    assert everything["zero_variance_share"]["numerator"] == sum(s["zero_variance"] for s in stats)
    assert (everything["missing_samples"]["numerator"], everything["missing_samples"]["denominator"]) == (1, 72)  # p-sick, sample 7
    alerts = {(a["name"], a["slice"]): a for a in rows_of(lake, ALERTS)}
    assert ("null_reward_share", "kind_broken_gold") in alerts
    assert ("missing_samples", "kind_sick") in alerts
    for alert in alerts.values():
        assert alert["severity"] == "warn"
        assert alert["value"] > alert["bound"]


def test_rows_without_a_time_are_counted(lake):
    from pyspark.sql import functions as F

    undated = lake.read(TRAJECTORIES, ROUND).withColumn("finished_at", F.lit(None).cast("timestamp"))
    rows = facts(undated, lake.read(TRAJECTORY_VERDICTS, ROUND), lake.read(REWARDS, ROUND), window_minutes=10)
    assert rows.where("time_window = 'unknown'").count() == len(rollouts())


def test_running_again_changes_nothing_and_the_round_is_closed(lake):
    before = {t.name: lake.lake.delta(t).version() for t in (TRAJECTORIES, TRAJECTORY_VERDICTS, TASK_STATS, SFT, TASKS)}
    reports = [job.run(lake, ROUND) for job in (ingest_rollouts, check_quality, feed_back)]
    assert [r.did for r in reports] == [False] * 3
    assert reports[0].counts["input"] == len(rollouts()) == sum(v for k, v in reports[0].counts.items() if k not in ("input", "failures"))
    assert reports[1].counts["input"] == sum(reports[1].counts[s] for s in ("accepted", "flagged", "rejected"))
    assert {
        t: lake.lake.delta(t_).version() for t_ in (TRAJECTORIES, TRAJECTORY_VERDICTS, TASK_STATS, SFT, TASKS) if (t := t_.name)
    } == before
    assert is_closed(lake, ROUND)


def test_another_order_and_partitioning_give_equal_tables(lake, other):
    tables = (TRAJECTORIES, INTERACTIONS, TOKENS, REWARDS, CALLS, TRAJECTORY_VERDICTS, ROUND_METRICS, ALERTS, TASK_STATS, SFT, PREFERENCES, REGRESSION, REPAIR_QUEUE)  # fmt: skip
    for table in tables:
        assert checksum_of(other.read(table, ROUND), table) == checksum_of(lake.read(table, ROUND), table), table.name
    assert checksum_of(other.read(TASKS), TASKS).rows == len(WORLD) + 1


def test_a_blocking_alert_ends_the_round_each_time_it_is_asked(other):
    # In the second workspace and last of all: it writes alerts of another severity.
    strict = JobContext(
        other.workspace, load_config(overrides=['check.block_on=["missing_samples"]']), now=NOW, job_run_id="strict", session=other.session
    )
    for _ in range(2):
        with pytest.raises(check_quality.BlockedRoundError, match="missing_samples: 1 of 8 ") as caught:
            check_quality.run(strict, ROUND)
        assert caught.value.exit_code == 5
