"""`verilake rewards` over small lakes: what a user reads, what the file holds, what is refused. No JVM."""

from __future__ import annotations

import errno
import json
import math
import random
import shutil

import duckdb
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from jobs.cli.main import run
from jobs.config import load_config
from jobs.lake.layout import Lake
from jobs.views.query import run_query
from jobs.views.reward_figures import reward_figures
from jobs.views.reward_rows import SCHEMA, reward_table
from jobs.views.rewards import read_rewards
from jobs.workspace import Workspace
from tests.reward_lake import (
    CALLS,
    JUDGEMENTS,
    RESCORED,
    REWARDS,
    TOKENS,
    TRAJECTORIES,
    call,
    empty,
    judgement,
    name,
    put,
    rescored,
    reward,
    samples,
    tokens,
)

HOSTILE = "qa\x1b[31m\u202e[bold]"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Round 1: a judged code group, a mixed and a constant maths group, a group of one, one with faults; half of it re-scored. Round 2: one group."""
    workspace = empty(tmp_path_factory.mktemp("rewards") / "ws")
    parts = [
        samples("code", [1.0, 0.0, None, 1.0], task_type="code", status=["completed", "truncated", "failed", "completed"]),
        samples("mixed", [1.0] + [0.0] * 7),
        samples("constant", [0.7] * 8, response_length=[10, 20, 120, 128, 10, 10, 10, None]),
        samples("single", [1.0], role="eval"),
        samples("odd", [2.0, 1.0, 0.0, 1.0], task_type=HOSTILE, verdicts=["correct", "incorrect", "unparsable_gold", "correct"]),
        samples("later", [1.0, 1.0, 1.0, 1.0], round_no=2),
    ]
    put(workspace, TRAJECTORIES, [row for rows, _ in parts for row in rows])
    extra = [
        reward("mixed", at, "format", float(at != 1), verdict="correct" if at != 1 else "incorrect", weight=0.0, is_outcome=False)
        for at in range(8)
    ]
    put(workspace, REWARDS, [row for _, rows in parts for row in rows] + extra)
    put(workspace, JUDGEMENTS, [
        judgement("code", 0, 0.9), judgement("code", 1, 0.1), judgement("code", 2, 0.5), judgement("code", 3, None),
        judgement("code", 0, 0.7, draw=1), judgement("code", 0, None, run_id="broken", failure_class="engine_error"),  # the same one, failed elsewhere
    ])  # fmt: skip
    put(workspace, TOKENS, [
        *tokens("mixed", 0, [-1.0, -2.0, -3.0]), *tokens("mixed", 1, [-1.0] * 3, version=2), *tokens("mixed", 2, None), *tokens("mixed", 3, [-1.0] * 3),
        *tokens("code", 0, [-1.0] * 3), *tokens("code", 0, [-4.0], turn=3, version=2), *tokens("code", 1, [-1.0] * 3),
    ])  # fmt: skip
    put(workspace, CALLS, [call("mixed", 0), call("mixed", 1), call("mixed", 3, temperature=0.6), call("code", 1)])
    ln2 = math.log(2)
    put(workspace, RESCORED, [
        rescored("mixed", 0, [-1.0 - ln2, -2.0 + ln2, -3.0 + ln2]), rescored("mixed", 1, [-1.0] * 3), rescored("mixed", 2, [-1.0] * 3),
        rescored("mixed", 3, [-1.0] * 3), rescored("code", 0, [-1.0 - ln2] * 3), rescored("code", 0, [-4.0 + ln2 * 5], turn=3),
        rescored("code", 1, None, failure_class="oom"), rescored("mixed", 0, [-1.0, -2.0, -3.0], policy="policy-2", version=2),
    ])  # fmt: skip
    return workspace


def view(lake, *overrides, round_no=1, against=None):
    return read_rewards(Workspace.open(lake.root), round_no, load_config(overrides=list(overrides)).reward, against)


def rows_of(lake, *overrides, **more):
    return {row["trajectory_id"]: row for row in reward_table(view(lake, *overrides, **more)).to_pylist()}


def test_every_trajectory_is_a_row_with_the_versions_of_the_view(lake):
    table = reward_table(view(lake))
    assert table.schema.equals(SCHEMA)
    assert table.num_rows == 25
    assert set(table["view"].to_pylist()) == {"rewards@1"}
    assert len(set(table["settings"].to_pylist())) == 1
    other = reward_table(view(lake, "reward.clip=2.0"))
    assert set(other["settings"].to_pylist()).isdisjoint(table["settings"].to_pylist())
    order = list(zip(table["group_id"].to_pylist(), table["sample_index"].to_pylist(), strict=True))
    assert order == sorted(order)


def test_figures_by_task_type_add_up(lake):
    code, maths, odd, everything = reward_figures(view(lake))
    assert [item.task_type for item in (code, maths, odd, everything)] == ["code", "math", HOSTILE, "all"]
    assert (code.n, code.known, code.unknown, code.alpha, code.judged) == (4, 2, {"error": 1, "genrm_invalid": 1}, (0.95,), 3)
    assert code.genrm_mean == pytest.approx((0.8 + 0.1 + 0.5) / 3)  # two draws of the first: (0.9 + 0.7) / 2
    # 17 maths outcomes: 1, seven 0, eight 0.7, 1
    assert (maths.n, maths.known, maths.raw_mean) == (17, 17, pytest.approx((1 + 8 * 0.7 + 1) / 17))
    assert (maths.groups, maths.zero_variance, maths.kept) == (3, 2, 1)
    assert maths.choices == {"kept": 1, "too_few_known": 1, "zero_variance": 1}
    assert odd.unknown == {"incorrect_with_reward": 1, "out_of_range": 1, "value_but_unknown": 1}
    assert everything.n == 25 == code.n + maths.n + odd.n
    assert everything.unknown == {"error": 1, "genrm_invalid": 1, "incorrect_with_reward": 1, "out_of_range": 1, "value_but_unknown": 1}
    train = reward_figures(view(lake), "train")[-1]
    assert (train.n, train.groups) == (24, 4)


def test_raw_rewards_are_unchanged_and_faults_are_unknown(lake):
    rows = rows_of(lake)
    odd = [rows[name("odd", at)] for at in range(4)]
    assert [row["raw_verifier"] for row in odd] == [None, None, None, 1.0]
    assert [row["rewards"][0]["value"] for row in odd] == [2.0, 1.0, 0.0, 1.0]
    assert [row["rewards"][0]["fault"] for row in odd] == ["out_of_range", "incorrect_with_reward", "value_but_unknown", None]
    assert odd[3]["score_raw"] == 0.0  # alone in its domain: no spread
    stored = DeltaTable(str(lake.lake_root / REWARDS.path)).version()
    view(lake, "reward.overlong.variant=dapo")
    assert DeltaTable(str(lake.lake_root / REWARDS.path)).version() == stored


def test_composed_and_advantages_of_the_judged_group(lake):
    rows = rows_of(lake)
    first, second, failed, unjudged = (rows[name("code", at)] for at in range(4))
    # verifier 1, 0, 1 -> mean 2/3, spread sqrt(2)/3 -> 1/sqrt(2), -sqrt(2), 1/sqrt(2); judge 0.8, 0.1, 0.5 (the failed one was judged, too)
    assert first["aligned_verifier"] == pytest.approx(1 / math.sqrt(2))
    assert second["aligned_verifier"] == pytest.approx(-math.sqrt(2))
    mean = 1.4 / 3
    spread = math.sqrt(((0.8 - mean) ** 2 + (0.1 - mean) ** 2 + (0.5 - mean) ** 2) / 3)
    assert first["aligned_genrm"] == pytest.approx((0.8 - mean) / spread)
    assert first["score_raw"] == pytest.approx(0.95 / math.sqrt(2) + 0.05 * (0.8 - mean) / spread)
    assert (failed["score_raw"], failed["unknown"], unjudged["score_raw"], unjudged["unknown"]) == (None, "error", None, "genrm_invalid")
    half = (first["score_raw"] - second["score_raw"]) / 2
    assert [row["advantage_dr_grpo"] for row in (first, second, failed, unjudged)] == [
        pytest.approx(half),
        pytest.approx(-half),
        None,
        None,
    ]
    assert [row["advantage_rloo"] for row in (first, second)] == [pytest.approx(2 * half), pytest.approx(-2 * half)]


def test_constant_and_single_groups_are_exactly_zero(lake):
    rows = rows_of(lake)
    for group, n, why in (("constant", 8, "zero_variance"), ("single", 1, "too_few_known")):
        for at in range(n):
            row = rows[name(group, at)]
            assert [row[f"advantage_{e}"] for e in ("grpo_unbiased", "grpo_population", "dr_grpo", "rloo")] == [0.0] * 4
            assert (row["keep"], row["weight"], row["sampling"]) == (False, 0.0, why)


def test_shaping_rows_stand_beside_the_raw_ones(lake):
    rows = rows_of(lake, "reward.overlong.variant=dapo", "reward.format_penalty=0.5")
    row = rows[name("constant", 2)]  # 120 of 128 tokens, 24 into the buffer of 32
    assert [(part["reward_name"], part["kind"], part["value"]) for part in row["rewards"]] == [
        ("correct", "rule", 0.7),
        ("overlong_dapo", "shaping", -0.75),
    ]
    assert (row["overlong"], row["format_shaping"], row["score_shaped"]) == (-0.75, None, pytest.approx(row["score_raw"] - 0.75))
    assert row["sampling"] == "zero_variance"  # by the raw reward, whatever the length
    unknown = rows[name("constant", 7)]
    assert (unknown["overlong"], unknown["score_shaped"]) == (None, None)
    assert unknown["score_raw"] is not None
    assert [rows[name("mixed", at)]["format_shaping"] for at in range(3)] == [0.0, -0.5, 0.0]
    verl = rows_of(lake, "reward.overlong.variant=verl")[name("mixed", 0)]["rewards"]
    assert [(part["reward_name"], part["low"]) for part in verl] == [("correct", 0.0), ("format", 0.0), ("overlong_verl", None)]


def test_ratios(lake):
    found = view(lake)
    rows = {row["trajectory_id"]: row for row in reward_table(found).to_pylist()}
    whole = rows[name("mixed", 0)]  # 1/2 * 2 * 2
    assert (whole["rho_tokens"], whole["rho_unknown"], whole["version_gap"], whole["scorer"]) == (3, 0, 2, "policy-3")
    assert whole["rho_sequence"] == pytest.approx(2.0, rel=1e-6)
    assert whole["rho"] == pytest.approx((0.5 + 2 + 2) / 3, rel=1e-6)
    assert rows[name("mixed", 1)]["version_gap"] == 1
    for group, at, tokens_of, unknown in (
        ("mixed", 2, 3, 3),
        ("mixed", 3, 3, 3),
        ("code", 1, 3, 3),
    ):  # no log-probabilities, other temperature, failed
        row = rows[name(group, at)]
        assert (row["rho_tokens"], row["rho_unknown"], row["rho_sequence"], row["rho"]) == (tokens_of, unknown, None, None)
    turns = rows[name("code", 0)]  # two turns: 1/8 * 32, the 32 above the bound
    assert (turns["rho_tokens"], turns["rho_above"]) == (4, 1)
    assert turns["rho_sequence"] == pytest.approx(4.0, rel=1e-5)
    assert rows[name("mixed", 5)]["rho_tokens"] is None  # never re-scored
    assert (found.ratios.not_comparable, found.ratios.failed) == (1, 1)
    rho = reward_figures(found)[-1].rho
    assert (rho.trajectories, rho.known, rho.tokens, rho.unknown_tokens, rho.version_gap) == (6, 3, 19, 9, 2)
    assert rho.sequence["p50"] == pytest.approx(2.0, rel=1e-6)


def test_ratios_under_another_checkpoint(lake, capsys):
    rows = rows_of(lake, against="policy-2")
    assert (rows[name("mixed", 0)]["rho"], rows[name("mixed", 1)]["rho"]) == (1.0, None)
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--against", "policy-9"]) == 3
    assert "policy-9: nothing of this round was re-scored under it. There is: policy-2, policy-3" in capsys.readouterr().err


def test_parts_of_any_size_give_the_same_ratios(lake, monkeypatch):
    from jobs.views import reward_ratios

    whole = reward_table(view(lake))
    monkeypatch.setattr(reward_ratios, "PART_TOKENS", 4)
    monkeypatch.setattr(reward_ratios, "BATCH_TURNS", 1)
    assert reward_table(view(lake)).equals(whole)


def test_a_running_window(lake):
    # round 2 is all right: alone it has no spread; with round 1 (17 maths outcomes, sum 7.6, squares 2 + 8 * 0.49) it has
    assert {row["score_raw"] for row in rows_of(lake, round_no=2).values()} == {0.0}
    found = view(lake, "reward.window_rounds=5", round_no=2)
    mean = (7.6 + 4) / 21
    spread = math.sqrt((2 + 8 * 0.49 + 4) / 21 - mean * mean)
    assert found.window == (1, 2)
    assert found.composed.score_raw == pytest.approx([(1 - mean) / spread] * 4)


def test_pairwise_judgements(lake, tmp_path):
    workspace = empty(tmp_path / "ws")
    trajectories, rewards = samples("essay", [None, None], task_type="essay")
    put(workspace, TRAJECTORIES, trajectories)
    put(workspace, REWARDS, rewards)
    ids = sorted([name("essay", 0), name("essay", 1)])
    put(workspace, JUDGEMENTS, [
        {
            "run_id": "j", "round": 1, "judgement_id": str(swapped), "kind": "pairwise", "trajectory_a": ids[0], "trajectory_b": ids[1],
            "swapped": swapped, "verdict": "a", "raw": "{}",
        }
        for swapped in (False, True)
    ])  # fmt: skip
    rows = rows_of(workspace, 'reward.genrm="pairwise"', "reward.alpha={essay=0.0}")
    assert (rows[ids[0]]["raw_genrm"], rows[ids[0]]["score_raw"], rows[ids[1]]["score_raw"]) == (1.0, 1.0, -1.0)
    assert rows[ids[0]]["keep"]  # the judge decides, and by the judge the group is mixed
    assert {row["unknown"] for row in rows_of(workspace, "reward.alpha={essay=0.0}").values()} == {"genrm_unjudged"}


def test_the_command(lake, tmp_path, capsys):
    out = tmp_path / "new" / "rewards.parquet"
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--json", "--out", str(out), "--set", "reward.overlong.variant=dapo"]) == 0
    said = capsys.readouterr()
    result = json.loads(said.out.strip().splitlines()[-1])
    assert (result["view"], result["rows"], result["figures"][-1]["n"], result["rescored_by"]["policy_id"]) == (
        "rewards@1",
        25,
        25,
        "policy-3",
    )
    assert "Rewards of round 1" in said.err
    assert "\x1b[31m" not in said.err
    assert "qa\\x1b[31m\\u202e[bold]" in said.err.replace("\n", "")
    assert duckdb.sql(f"SELECT count(*), sum(weight) FROM '{out}' WHERE keep").fetchall() == [(12, 12.0)]
    again = tmp_path / "again.parquet"
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--out", str(again), "--set", "reward.overlong.variant=dapo"]) == 0
    assert again.read_bytes() == out.read_bytes()
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--out", str(again), "--role", "eval"]) == 0
    assert pq.read_table(again)["role"].to_pylist() == ["eval"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.parquet", "new"]


def test_what_is_refused(lake, tmp_path, capsys):
    assert run(["rewards", "--round", "7", "-w", str(lake.root)]) == 3
    assert "silver.trajectories holds nothing for round 7. Run first: verilake ingest-rollouts --round 7" in capsys.readouterr().err
    bare = Workspace.init(tmp_path / "bare")
    assert run(["rewards", "--round", "1", "-w", str(bare.root)]) == 3
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--role", "trian"]) == 2
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--out", str(tmp_path)]) == 2
    assert "round 1 holds eval, train" in " ".join(capsys.readouterr().err.split())
    (tmp_path / "file").write_text("no folder")
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--out", str(tmp_path / "file" / "out.parquet")]) == 2
    assert "Name a file in a folder that can be written" in capsys.readouterr().err
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--set", "reward.clip=-1"]) == 2
    assert "reward.clip" in capsys.readouterr().err


def test_a_lake_from_before_judgements_and_ranges_is_read(lake, tmp_path):
    workspace = Workspace(shutil.copytree(lake.root, tmp_path / "old"))
    for table in (JUDGEMENTS, RESCORED, REWARDS):
        shutil.rmtree(workspace.lake_root / table.path)
    rows = (
        Lake(lake.lake_root)
        .dataset(REWARDS)
        .to_table()
        .drop_columns(["low", "high", "tests_passed", "tests_total", "sandbox_tier", "detail"])
    )
    write_deltalake(str(workspace.lake_root / REWARDS.path), rows, partition_by=["round"])
    old, new = view(workspace), view(lake)
    assert old.ratios is None
    assert old.rows.raw.verifier == new.rows.raw.verifier  # our own graders have had one range from the start
    assert old.rows.raw.judge == [None] * 25


def test_a_full_disk_leaves_the_old_file_alone(lake, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out.parquet"
    out.write_text("as it was")

    def full(table, part, **_):
        part.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("jobs.views.reward_rows.pq.write_table", full)
    assert run(["rewards", "--round", "1", "-w", str(lake.root), "--out", str(out)]) == 1
    assert "the disk is full" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out.parquet", "as it was")]


def test_the_view_agrees_with_sql_over_the_same_rows(lake):
    # an independent count, by DuckDB through `verilake sql`
    counted = run_query(
        lake, "SELECT task_type, count(*), count(DISTINCT group_id) FROM silver.trajectories WHERE round = 1 GROUP BY 1 ORDER BY 1"
    ).rows
    assert [(item.task_type, item.n, item.groups) for item in reward_figures(view(lake))[:-1]] == [tuple(row) for row in counted]


def test_what_dynamic_sampling_keeps_agrees_with_a_count_by_hand(tmp_path):
    workspace, rng = empty(tmp_path / "ws"), random.Random(1)
    trajectories, rewards = [], []
    for group in range(400):  # the demo's size
        values = [float(rng.random() < rng.random()) for _ in range(8)]
        rows, graded = samples(str(group), values, task_type=rng.choice(["code", "math", "cloze"]))
        trajectories += rows
        rewards += graded
    put(workspace, TRAJECTORIES, trajectories)
    put(workspace, REWARDS, rewards)
    table = reward_table(view(workspace))
    values, kept = table["raw_verifier"].to_pylist(), table["keep"].to_pylist()
    assert len(values) == 3200
    for at in range(0, 3200, 8):
        assert kept[at : at + 8] == [0 < sum(values[at : at + 8]) < 8] * 8
