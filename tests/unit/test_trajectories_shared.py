"""Real answers of four published models to GSM8K: grading and quality together."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from schemas.contract import AnswerContract
from udfs.stats.group import group_statistics
from udfs.trajectories.copying import Source
from udfs.trajectories.quality import Attempt, Component, judge_group
from udfs.trajectories.rewards import grade_response, outcome_of

pytestmark = pytest.mark.shared

PROBLEMS = 200
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")


def attempt(ident, index, contract, response):
    rewards = grade_response(contract, response, None)
    components = tuple(Component(r.reward_name, r.value, r.verdict, r.is_outcome, r.flags) for r in rewards)
    return Attempt(ident, index, response, outcome_of(rewards), "completed", None, components, len(response.split()), None, None)


def test_rewards_agree_with_the_published_labels_and_nothing_sound_is_rejected(shared_data):
    lines = (shared_data / "gsm8k" / "example_model_solutions.jsonl").read_text("utf-8").splitlines()[:PROBLEMS]
    reasons: Counter[str] = Counter()
    for number, row in enumerate(map(json.loads, lines)):
        contract = AnswerContract(type="number", gold=row["ground_truth"].split("A:")[-1].strip()).canonical()
        group = [attempt(f"{number}-{i}", i, contract, row[model]["solution"]) for i, model in enumerate(MODELS)]
        assert [a.outcome == 1.0 for a in group] == [row[model]["is_correct"] for model in MODELS]
        labels = [float(row[model]["is_correct"]) for model in MODELS]
        stats = group_statistics([a.outcome for a in group])
        assert (stats.mean, stats.zero_variance) == (sum(labels) / 4, len(set(labels)) == 1)
        verdicts = judge_group(group, Source.of(row["question"], None), length_factor=4.0)
        reasons.update(v.reason for v in verdicts)
        # What has no answer to be read (cut off, or repeating itself without end) is flagged; the models' own labels call it wrong.
        assert all(group[int(v.trajectory_id[-1])].outcome == 0.0 for v in verdicts if v.reason == "bad_format")
    assert set(reasons) <= {"accepted", "bad_format", "duplicate_response"}
    assert reasons["accepted"] >= 0.98 * PROBLEMS * len(MODELS)
