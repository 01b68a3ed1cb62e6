"""Figures of a round and the vocabulary of their names, over a small lake whose values are worked out by hand."""

from __future__ import annotations

import math
import subprocess
import sys
import tomllib
from importlib import resources

import pytest

from jobs.views.costs import cost_figures
from jobs.views.figures import round_figures
from jobs.views.reader import LakeReader
from jobs.views.vocabulary import NAME, Metric, UnknownMetricError, Vocabulary, described, sliced, spelled, vocabulary
from tests.published_rounds import HOSTILE, STATS, add_round, lay, put


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    workspace = lay(tmp_path_factory.mktemp("figures") / "ws")
    add_round(workspace, 1)
    add_round(workspace, 2, price=0.5)
    return workspace


@pytest.fixture(scope="module")
def figures(built):
    return round_figures(LakeReader.open(built), 1)


def test_a_solve_rate_is_the_mean_over_prompts_with_a_known_reward(figures):
    # e1 1/4, e2 3/3 (the fourth is unknown), e3 has no known reward: in no mean, counted apart
    assert figures["eval/fixed/solve_rate"] == (0.25 + 1.0) / 2
    assert figures["eval/fixed/solve_rate.cloze_year"] == (0.25 + 1.0) / 2
    assert "eval/fixed/solve_rate.cloze_name" not in figures
    assert (figures["eval/fixed/prompts"], figures["eval/fixed/samples"], figures["eval/fixed/unknown_prompts"]) == (3, 12, 1)


def test_held_out_rows_are_told_apart_by_why_they_were_planned(figures):
    assert (figures["eval/collected/solve_rate"], figures["eval/collected/prompts"]) == (0.5, 1)
    assert (figures["eval/fresh/solve_rate"], figures["eval/fresh/prompts"]) == (1.0, 1)
    assert figures["train/solve_rate"] == (0.25 + 0.75) / 2
    assert figures["probe/solve_rate"] == 1.0


def test_shares_are_ratios_of_the_counts_and_unknown_ones_are_left_out(figures):
    assert figures["quality/accepted_share"] == 30 / 40
    assert figures["quality/null_share"] == 5 / 40
    assert figures["quality/null_share.cloze_name"] == 4 / 12
    assert figures["train/mixed_share"] == 3 / 4  # one group of four has equal rewards
    assert "train/all_right_share" not in figures  # 0 of 0


def test_the_funnel_counts_what_the_plan_could_choose_from(built, figures):
    assert (figures["funnel/ingests"], figures["funnel/documents"], figures["funnel/kept_documents"]) == (1, 2, 1)
    assert (figures["funnel/candidates"], figures["funnel/tasks"], figures["funnel/prompts"]) == (3, 2, 4)
    assert (figures["funnel/planned_prompts"], figures["funnel/planned_samples"]) == (8, sum(row[4] for row in STATS))
    assert (figures["funnel/rollouts"], figures["funnel/failed_rollouts"], figures["funnel/repair_rows"]) == (4, 1, 0)


def test_an_ingest_and_a_round_that_came_later_change_no_figure_of_a_round(tmp_path):
    workspace = lay(tmp_path / "ws")
    add_round(workspace, 1)
    before = round_figures(LakeReader.open(workspace), 1)
    put(workspace, "bronze.documents", "later", {"doc_id": "d9", "ingest_id": "later"})
    put(workspace, "gold.tasks", "ingest=later", {"task_id": "t9", "version": 1, "origin": "ingest=later"})
    put(workspace, "gold.tasks", "feedback=1", {"task_id": "t0", "version": 2, "origin": "feedback=1"})
    add_round(workspace, 2)
    assert round_figures(LakeReader.open(workspace), 1) == before


def test_a_round_that_is_only_planned_has_the_figures_of_its_plan_alone(tmp_path):
    workspace = lay(tmp_path / "ws")
    put(workspace, "gold.round_plan", 1, {"round": 1, "prompt_id": "p", "role": "train", "n_samples": 8})
    found = round_figures(LakeReader.open(workspace), 1)
    assert {name: value for name, value in found.items() if value} == {"funnel/planned_prompts": 1.0, "funnel/planned_samples": 8.0}
    assert "quality/alerts" not in found
    assert cost_figures(LakeReader.open(workspace), 1) == {}


def test_a_hostile_task_type_becomes_one_plain_name_and_no_other_has_it(figures):
    name = f"train/solve_rate.{spelled(HOSTILE)}"
    assert figures[name] == 0.75
    assert all(NAME.fullmatch(found) for found in figures)
    assert spelled("a b") != spelled("a_b")
    assert spelled("a b") != spelled("a\tb")
    assert spelled("cloze_year") == "cloze_year"


def test_cost_adds_up_all_runs_tokens_and_price_in_integers(built):
    reader = LakeReader.open(built)
    free, paid = cost_figures(reader, 1), cost_figures(reader, 2)
    assert free["cost/seconds"] == 4.0  # 1.5 + 0.25 of a failed run + 2.25
    assert free["cost/seconds.feed_back"] == 2.5
    assert (free["cost/failed_runs"], free["cost/calls"]) == (1, 10)
    assert (free["cost/tokens"], free["cost/prompt_tokens"], free["cost/completion_tokens"]) == (150, 100, 50)
    assert free["cost/engine_seconds"] == 0.001  # ten times 0.1 ms; in doubles the sum would be 0.9999999999999999 ms
    assert "cost/price" not in free
    assert (paid["cost/price"], paid["cost/price_per_trainable"]) == (5.0, 5.0 / 16)
    assert (free["workers/count"], free["workers/max_abs_z"]) == (2, 2.5)


def test_every_judgement_was_paid_for_whichever_of_them_counts(tmp_path):
    workspace = lay(tmp_path / "ws")
    for run_id, price in (("free", 0.0), ("paid", 0.1)):
        put(workspace, "bronze.judgements", run_id, *(
            {"run_id": run_id, "round": 1, "judgement_id": f"j{k}", "kind": "pointwise", "verdict": "score", "price": price} for k in range(3)
        ))  # fmt: skip
    found = cost_figures(LakeReader.open(workspace), 1)
    assert found == {"cost/judgements": 6, "cost/judge_price": 0.3}  # in doubles 0.1 + 0.1 + 0.1 is 0.30000000000000004
    assert cost_figures(LakeReader.open(workspace), 2) == {}


def test_no_figure_of_a_pin_speaks_of_seconds_or_machines(figures):
    found = vocabulary()
    assert not [name for name in figures if found.find(name).unit in {"seconds", "money"} or name.startswith(("cost/", "workers/"))]


def test_figures_come_in_order_and_are_the_same_when_read_again(built, figures):
    assert list(figures) == sorted(figures)
    assert round_figures(LakeReader.open(built), 1) == figures


def test_every_entry_of_the_vocabulary_is_complete_and_plain():
    entries = tomllib.loads(resources.files("conf").joinpath("metrics.toml").read_text("utf-8"))
    found = vocabulary()
    assert set(found.metrics) == set(entries)
    assert {entry["better"] for entry in entries.values()} == {"higher", "lower", "none"}
    assert [name for name, entry in entries.items() if entry.get("headline") and "<" in name] == []
    assert "eval/fixed/solve_rate" in found.headlines({"eval/fixed/solve_rate": 0.5, "train/prompts": 3})
    assert "train/prompts" not in found.headlines({"eval/fixed/solve_rate": 0.5, "train/prompts": 3})


@pytest.mark.parametrize(
    "name", ["solve_rate", "eval/fixed/solve_rate.", "eval/fixed/solve_rate.a b", "train/solve_rate.<task_type>", "train/prompts.x", ""]
)
def test_a_name_that_is_not_in_the_vocabulary_is_refused(name):
    with pytest.raises(UnknownMetricError, match=r"conf/metrics\.toml"):
        vocabulary().checked({name: 1.0})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_refused_and_an_unknown_one_left_out(value):
    with pytest.raises(UnknownMetricError, match="finite"):
        vocabulary().checked({"train/prompts": value})
    assert vocabulary().checked({"train/prompts": None, "train/samples": 2}) == {"train/samples": 2.0}


def test_a_vocabulary_with_a_name_that_mlflow_would_refuse_is_refused():
    metric = Metric(description="d", unit="count", better="none")
    with pytest.raises(UnknownMetricError):
        Vocabulary({"acc@1": metric})
    with pytest.raises(UnknownMetricError):
        Vocabulary({"x.<a>.<b>": metric})


def test_meanings_go_along_with_values():
    assert described(["train/solve_rate.cloze_year"])["train/solve_rate.cloze_year"]["unit"] == "share"
    assert list(sliced("a", {"x": 1.0, "y": None})) == ["a.x", "a.y"]


def test_figures_need_neither_spark_nor_pandas_nor_mlflow():
    code = "import sys, jobs.views.figures, jobs.track_round, jobs.cli.track_verbs; print([m for m in ('pyspark', 'pandas', 'mlflow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
