"""Comparing rounds: what is refused, what is scored, and which changes are named. No JVM."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from jobs.config import load_config
from jobs.evaluation.plan import EvalRefusedError, eval_plan
from jobs.lake.errors import MissingInputError
from jobs.publish.history import History
from jobs.views.changes import read_changes
from jobs.views.compare import DigestMismatchError, compare, compare_evals, item_differences
from jobs.views.evals import NoEvalError, eval_scores
from jobs.views.reader import LakeReader
from jobs.views.render_scores import render_comparison, render_eval_comparison
from jobs.views.scores import COLLECTED, FIXED, EvalItem
from schemas.conf import Eval
from schemas.ids import canonical_json, content_id
from schemas.policy import Policy
from tests.held_out_rounds import ORIGIN, ROWS, add_round, laid
from tests.published_rounds import AT, HOSTILE, publish, put

#: What is evaluated: its engine bears on the digests.
READER = Policy(engine="reader", policy_id="p", policy_version=0)
SETTINGS = Eval(bootstrap=500, confidence=0.95)
BETTER = ROWS | {"e1": (*ROWS["e1"][:3], 3, 4, 4), "x1": (*ROWS["x1"][:3], 2, 4, 4)}


def shown(renderable):
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    console.print(renderable)
    return console.export_text()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    held = laid(tmp_path_factory.mktemp("compare") / "ws")
    add_round(held, 1, train=("p1", "p2"))
    only = {p: row for p, row in BETTER.items() if p != "x2"}
    add_round(held, 2, only, policy="reader-2", train=("p2", "p3"), conf_hash="other")
    add_round(held, 3, seeds={"e1": 8}, verifier=("contract", "2"))
    return held


def test_scores_are_paired_on_equal_prompts_and_collected_failures_on_those_that_both_tried(workspace):
    found = compare(workspace, 1, 2, SETTINGS)
    # e1 rose from 1/4 to 3/4; e2 and e4 stayed, e3 has no known sample.
    assert found.fixed.difference.estimate == pytest.approx(0.5 / 3)
    assert (found.fixed.first.estimate, found.fixed.second.estimate) == (pytest.approx(1.75 / 3), pytest.approx(2.25 / 3))
    assert found.fixed.unknown_first == found.fixed.unknown_second == ("e3",)
    assert found.fixed_by_type["cloze_year"].difference.estimate == pytest.approx(0.25)
    assert (found.collected.difference.estimate, found.collected.difference.prompts) == (0.25, 1)
    assert found.collected_apart == (1, 0)
    assert compare(workspace, 2, 1, SETTINGS).fixed.difference.estimate == pytest.approx(-0.5 / 3)


def test_other_fixed_sets_are_refused_with_both_digests_and_every_difference(workspace):
    with pytest.raises(DigestMismatchError) as refused:
        compare(workspace, 1, 3, SETTINGS)
    said = str(refused.value)
    first, third = compare(workspace, 1, 1, SETTINGS).eval_digest, compare(workspace, 3, 3, SETTINGS).eval_digest
    assert refused.value.exit_code == 3
    for part in (first, third, "seeds of 1 of 4 common prompts (first: e1, 7 -> 8)", "verifier of 4 of 4", "contract@1 -> contract@2"):
        assert part in said


def test_differences_of_items_are_named_one_by_one():
    item = EvalItem("a", 8, 1, "{}", ("s",), ("v@1",))
    other = replace(item, n_samples=4, contract="[]", sampling=("t",))
    alone = replace(item, prompt_id="b")
    assert item_differences([item, alone], [other]) == [
        "1 prompts only in the first (b)",
        "number of samples of 1 of 1 common prompts (first: a, 8 -> 4)",
        "contracts of 1 of 1 common prompts (first: a, {} -> [])",
        "sampling of 1 of 1 common prompts (first: a, s -> t)",
    ]


def test_changes_of_two_unpublished_rounds_come_from_the_tables_and_settings_differ_without_values(workspace):
    changes = compare(workspace, 1, 2, SETTINGS).changes
    assert (changes.prompts.first_came, changes.prompts.first_went, changes.prompts.stayed) == (("p3",), ("p1",), 1)
    assert (changes.tasks.came, changes.tasks.went) == (1, 1)
    assert (changes.ingests.came, changes.ingests.stayed) == (0, 1)
    assert {c.what: (c.before, c.after) for c in changes.facts if c.what == "policy"} == {"policy": ("reader-1", "reader-2")}
    assert [(c.what, c.values) for c in changes.settings] == [
        ("settings of feed_back, round", False),
        ("settings of plan_round, round", False),
    ]
    assert changes.published == (False, False)
    text = shown(render_comparison(compare(workspace, 1, 2, SETTINGS), 0.95))
    for part in ("policy: reader-1 -> reader-2", "settings of plan_round, round: differ", "round 2 is not published", "+0.167", "e3"):
        assert part in text


def test_an_ingest_curated_anew_is_followed_by_fingerprint(tmp_path):
    held = laid(tmp_path / "ws")
    for mark, conf in (("admit 1", "loose"), ("admit 2", "strict")):
        put(held, "ops.job_runs", "", {
            "event_id": mark, "job": "admit_tasks", "scope": ORIGIN, "fingerprint": mark, "state": "finished", "conf_hash": conf, "reads": "{}",
            "writes": "{}", "counts": "{}", "code_hash": "code",
        })  # fmt: skip
    add_round(held, 1)
    add_round(held, 2, reads={"gold.tasks": {ORIGIN: "admit 2", "ingest=new": "unknown"}})
    changes = read_changes(held, LakeReader.open(held), 1, 2)
    assert [(c.what, c.before, c.after) for c in changes.settings] == [(f"settings of admit_tasks, {ORIGIN}", "loose", "strict")]
    assert changes.ingests.first_came == ("new",)


def test_published_rounds_tell_values_of_settings_filters_and_shared_sizes(tmp_path):
    held = laid(tmp_path / "ws")
    add_round(held, 1)
    add_round(held, 2)
    for number, jaccard in ((1, 0.8), (2, 0.9)):
        publish(held, number, conf={"curate": {"jaccard": jaccard, "rows": 6}, "note": HOSTILE * (number - 1)}, figures={})
    changes = compare(held, 1, 2, SETTINGS).changes
    assert changes.published == (True, True)
    assert next((c.what, c.before, c.after) for c in changes.settings) == ("curate.jaccard", "0.8", "0.9")
    assert "curate.rows" not in {c.what for c in changes.settings}
    rl = next(item for item in changes.sets if item.name == "rl")
    assert (rl.rows, rl.shared_files) == ((3, 3), None)  # no manifest in this workspace's DVC: the sizes are known, what is shared is not
    text = shown(render_comparison(compare(held, 1, 2, SETTINGS), 0.95))
    assert "curate.jaccard: 0.8 -> 0.9" in text
    assert "\x07" not in text


def test_files_of_equal_bytes_are_counted_as_shared_from_the_manifests_of_both_tags(tmp_path):
    held = laid(tmp_path / "ws")
    add_round(held, 1)
    add_round(held, 2)
    for number in (1, 2):
        publish(held, number, figures={})
        _lock(held, "rl", "regression")
        publish(held, number, attempt=2, figures={})  # its tag has the lock in its tree
    sets = {item.name: item for item in compare(held, 1, 2, SETTINGS).changes.sets}
    assert (sets["rl"].shared_files, sets["rl"].shared_bytes) == (0, 0)  # ids of the rows carry the round
    assert (sets["regression"].shared_files, sets["regression"].shared_bytes) == (1, sets["regression"].bytes[1])  # empty in both
    assert sets["sft"].shared_files is None  # not in the lock


def _lock(workspace, *names):
    """dvc.lock and the objects of its cache for these sets, as DVC lays them."""
    outs = []
    for name in names:
        entries = []
        for path in sorted((workspace.root / "datasets" / name).iterdir()):
            md5 = hashlib.md5(path.read_bytes()).hexdigest()  # noqa: S324  # DVC's
            entries.append({"md5": md5, "relpath": path.name})
            _cached(workspace, md5, path.read_bytes())
        listing = json.dumps(entries).encode()
        md5 = hashlib.md5(listing).hexdigest() + ".dir"  # noqa: S324
        _cached(workspace, md5, listing)
        outs.append({"path": f"datasets/{name}", "md5": md5})
    (workspace.root / "dvc.lock").write_text(json.dumps({"schema": "2.0", "stages": {"publish": {"outs": outs}}}), "utf-8")
    History(workspace.root).commit(["dvc.lock"], "lock", AT)


def _cached(workspace, md5, data):
    path = workspace.root / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _evaluated(workspace, policy, *, digest="f", right=2, collected=True):
    rows = [("fixed", digest, p, n) for p in ("e1", "e2") for n in range(4)] + [("collected", "c", "x1", n) for n in range(4) if collected]
    ident = content_id(policy, digest)
    put(workspace, "silver.eval_samples", ident, *(
        {
            "eval_id": ident, "policy_id": policy, "eval_set": kind, "eval_digest": mark, "prompt_id": p, "task_id": f"t-{p}", "task_type": "cloze",
            "cluster_id": f"c-{p}", "sample_index": n, "reward": None if n == 3 else float(n < right), "verdict": "error" if n == 3 else "correct" if n < right else "incorrect",
        }
        for kind, mark, p, n in rows
    ))  # fmt: skip
    return ident


def test_two_checkpoints_are_compared_by_their_newest_evaluation_on_equal_sets(tmp_path):
    held = laid(tmp_path / "ws")
    ident = _evaluated(held, "a", right=1)
    _evaluated(held, "b", digest="g")
    with pytest.raises(NoEvalError, match="never evaluated on the same sets: fixed and collected f c against g c"):
        compare_evals(held, "a", "b", SETTINGS)
    _evaluated(held, "b", right=2)
    found = compare_evals(held, "a", "b", SETTINGS)
    # one of three known samples right against two of three
    assert found.fixed.difference.estimate == pytest.approx(1 / 3)
    assert found.collected.difference.estimate == pytest.approx(1 / 3)
    scores = eval_scores(LakeReader.open(held), ident)
    assert [(p.prompt_id, p.k, p.n_valid, p.n) for p in scores.fixed] == [("e1", 1, 3, 4), ("e2", 1, 3, 4)]
    assert "+0.333" in shown(render_eval_comparison(found, 0.95))
    with pytest.raises(NoEvalError, match="verilake eval nobody"):
        compare_evals(held, "a", "nobody", SETTINGS)


def test_an_evaluation_takes_the_fixed_set_and_failures_up_to_its_round_each_prompt_once(tmp_path):
    held = laid(tmp_path / "ws")
    rollout = load_config(held.root).rollout
    with pytest.raises(MissingInputError, match="verilake run --rounds 1"):
        eval_plan(held, None, rollout, READER)
    rows = {p: row for p, row in ROWS.items() if p != "x2"}
    add_round(held, 1, rows, seeds={"f1": 3})
    put(held, "gold.regression", 1, *({"round": 1, "prompt_id": p} for p in ("e1", "f1")))  # e1 is fixed already
    add_round(held, 2)
    put(held, "gold.regression", 2, {"round": 2, "prompt_id": "x2"})
    first, second = eval_plan(held, 1, rollout, READER), eval_plan(held, None, rollout, READER)
    assert [(r["eval_set"], r["prompt_id"]) for r in first.rows] == [*(("fixed", f"e{n}") for n in range(1, 5)), ("collected", "f1")]
    assert next(r["seed"] for r in first.rows if r["prompt_id"] == "f1") == 3
    assert (second.round, [r["prompt_id"] for r in second.rows if r["eval_set"] == COLLECTED]) == (2, ["f1", "x2"])
    assert first.digests[FIXED] == second.digests[FIXED]
    assert first.digests[COLLECTED] != second.digests[COLLECTED]
    assert (first.samples, len({first.eval_id("a"), first.eval_id("b"), second.eval_id("a")})) == (20, 3)


def test_a_round_sampled_with_settings_that_nobody_knows_any_more_is_refused(tmp_path):
    held = laid(tmp_path / "ws")
    add_round(held, 1)
    rollout = load_config(held.root).rollout
    event = {
        "event_id": "r",
        "job": "rollout_round",
        "scope": "round=1",
        "state": "finished",
        "reads": "{}",
        "writes": "{}",
        "counts": "{}",
    }
    settings = {"temperature": 1.0, "max_response_tokens": 128, "passages_per_question": 5}
    put(held, "ops.job_runs", "", event | {"conf_hash": content_id(settings)})
    assert eval_plan(held, 1, rollout, READER).sampling == settings
    with pytest.raises(EvalRefusedError, match="sampled with other settings"):
        eval_plan(held, 1, rollout.model_copy(update={"temperature": 0.5}), READER)


def test_a_round_without_fixed_prompts_and_prompts_that_are_gone_are_refused(tmp_path):
    held = laid(tmp_path / "ws")
    rollout = load_config(held.root).rollout
    add_round(held, 1, {"x1": ROWS["x1"]})
    with pytest.raises(EvalRefusedError, match="no fixed eval prompts"):
        eval_plan(held, 1, rollout, READER)
    add_round(held, 2, {"gone": ROWS["e1"]})
    with pytest.raises(EvalRefusedError, match="1 held-out prompts are no longer"):
        eval_plan(held, 2, rollout, READER)


def test_held_out_prompts_that_agents_have_rolled_out_are_refused(tmp_path):
    held = laid(tmp_path / "ws")
    rollout = load_config(held.root).rollout
    add_round(held, 1)
    put(held, "bronze.rollouts", 1, *({"run_id": "r", "round": 1, "prompt_id": p, "program": program} for p, program in (
        ("e1", "agent"), ("e2", "rollout"), ("t1", "agent"),
    )))  # fmt: skip
    with pytest.raises(EvalRefusedError, match="1 held-out prompts were rolled out by agents"):
        eval_plan(held, 1, rollout, READER)


def test_the_command_compares_without_a_jvm_and_refuses_with_exit_3(workspace):
    command = [sys.executable, "-c", "import typer; from jobs.cli import eval_verbs; a = typer.Typer(); eval_verbs.register(a); a()"]
    done = subprocess.run([*command, "compare", "1", "2", "-w", str(workspace.root), "--json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["fixed"]["difference"]["estimate"] == pytest.approx(0.5 / 3)
    assert "Scores (round 2 minus round 1" in done.stderr
    loaded = "import sys, jobs.views.compare, jobs.cli.eval_verbs; print(sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'delta', 'mlflow'}))"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    assert canonical_json(found)
