"""The policy as a whole: features, distribution, gradient, seeds, checkpoint."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pyarrow as pa
import pytest

from udfs.reader.checkpoint import NAMES, Checkpoint, CheckpointError, base_checkpoint, base_weights, policy_id_of
from udfs.reader.features import CANDIDATE_NAMES
from udfs.reader.passages import passages_of
from udfs.reader.policy import UNKNOWN, PromptError, Reader, answers_of, draw, greedy, sample_seed
from udfs.reader.question import Prompt

DOCUMENTS = [
    (
        "d1",
        "pkg.compile",
        "pkg.compile\n\nFunction of module pkg.\n\nParameters:\n  source\n  symbol (default: 'single')\n  depth (default: 4)\n",
    ),
    ("d2", "pkg.Reader", "pkg.Reader\n\nClass of module pkg.\n\nBases: io.Base\n\nReads rows of a file.\n"),
    ("d3", "Troy", "Troy stood near the sea. It fell on 3 April 1184 after ten years of war. The king was Priam of Troy."),
    ("d4", "Rivers", "The Aa is 176 km long. It flows past Zwolle into the sea, and no king ever crossed it."),
]


def passages(order=1):
    columns = {name: [row[k] for row in DOCUMENTS[::order]] for k, name in enumerate(("doc_id", "title", "text"))}
    return pa.Table.from_batches([passages_of(pa.RecordBatch.from_pydict(columns))])


@pytest.fixture(scope="module")
def reader():
    return Reader(passages(), 3)


def prompt(question, text="{q}", subject="", **further):
    return Prompt("p1", "", text.format(q=question), question, subject, **further)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the default value of the parameter `symbol` of `pkg.compile()`?", "'single'"),
        ("What is the default value of the parameter `depth` of `pkg.compile()`?", "4"),
        ("Which class is the direct base class of `pkg.Reader`?", "io.Base"),
        ("Troy: It fell on ____ after ten years of war.", "3 April 1184"),
    ],
)
def test_the_hand_set_weights_find_answers_that_stand_in_the_passages(reader, question, answer):
    features = reader.features(prompt(question))
    assert greedy(features, base_weights()) == answer
    # Far from certain at temperature 1, so that there is something to learn.
    assert 0.05 < answers_of(features, base_weights(), 1.0, [answer]) < 0.97


def test_probabilities_of_responses_sum_over_candidates_that_spell_the_same(reader):
    features = reader.features(prompt("Who was the king of Troy?"))
    joint = np.exp(features.log_joint(base_weights(), 1.0)).ravel()
    distribution = features.distribution(base_weights(), 1.0)
    assert features.answers.count("Troy") > 1
    by_hand = math.fsum(p for p, text in zip(joint.tolist(), features.responses, strict=True) if text == "Troy")
    assert distribution.probabilities[distribution.find("Troy")] == pytest.approx(by_hand, abs=1e-13)
    assert joint.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_gradient_is_that_of_finite_differences(reader):
    features = reader.features(prompt("Who was the king of Troy?", text="Reply in JSON. {q}"))
    weights = base_weights()
    for response in ("Priam", '{"answer": "Troy"}', UNKNOWN):
        value, gradient = features.log_prob_gradient(weights, 0.7, response)
        distribution = features.distribution(weights, 0.7)
        assert value == pytest.approx(math.log(distribution.probabilities[distribution.find(response)]), abs=1e-12)
        for k in range(len(NAMES)):
            step = np.zeros(len(NAMES))
            step[k] = 1e-5
            up, down = (features.log_prob_gradient(weights + s, 0.7, response)[0] for s in (step, -step))
            assert gradient[k] == pytest.approx((up - down) / 2e-5, abs=1e-6), NAMES[k]
    with pytest.raises(ValueError, match="no probability"):
        features.log_prob_gradient(weights, 0.7, "never said")


def test_neither_the_order_of_passages_nor_of_prompts_matters(reader):
    other = Reader(passages(order=-1), 3)
    asked = [prompt("Who was the king of Troy?"), prompt("Which class is the direct base class of `pkg.Reader`?")]
    first = [reader.features(p) for p in asked]
    second = [other.features(p) for p in reversed(asked)][::-1]
    for a, b in zip(first, second, strict=True):
        assert a.responses == b.responses
        assert np.array_equal(a.candidates, b.candidates)
        assert np.array_equal(a.log_joint(base_weights(), 1.0), b.log_joint(base_weights(), 1.0))


def test_a_sample_is_named_by_seed_prompt_index_and_policy_alone(reader):
    distribution = reader.features(prompt("Who was the king of Troy?")).distribution(base_weights(), 1.0)
    seeds = [sample_seed(7, "p1", k, "reader-a") for k in range(8)]
    assert len(set(seeds)) == 8
    assert sample_seed(7, "p1", 0, "reader-b") != seeds[0]
    once, again = ([draw(distribution, seed, 128).text for seed in seeds] for _ in range(2))
    assert once == again
    assert len(set(once)) > 1


@pytest.mark.parametrize(
    ("instruction", "weight", "shown"),
    [
        ("Reply in JSON. {q}", "json:json", '{"answer": "176"}'),
        ('{q} Give the unit "km".', "unit:unit", "176 km"),
        ("Explain your reasoning. {q}", "reasoned:reason", "The passage on Aa says so.\nAnswer: 176"),
    ],
)
def test_the_form_of_a_response_follows_a_weight_of_the_prompts_cue(reader, instruction, weight, shown):
    features = reader.features(prompt("How long is the Aa?", text=instruction, subject="Aa"))
    low, high = base_weights(), base_weights()
    low[NAMES.index(weight)], high[NAMES.index(weight)] = 0.0, 8.0

    def share(weights):
        distribution = features.distribution(weights, 1.0)
        return float(distribution.probabilities[distribution.find(shown)])

    assert share(high) > 2 * share(low) > 0


def test_an_open_book_prompt_is_answered_from_its_context_alone(reader):
    features = reader.features(prompt("Who was the king of Troy?", context="In this tale the king of Troy was Bob."))
    assert set(features.answers) >= {"Bob", UNKNOWN}
    assert "Priam" not in features.answers
    assert greedy(features, base_weights()) == "Bob"


def test_a_choice_is_answered_by_letters_scored_where_the_options_stand(reader):
    features = reader.features(prompt("Who was the king of Troy?", options=("Zwolle", "Priam", "Nobody")))
    assert features.answers == ["A", "B", "C", UNKNOWN]
    assert greedy(features, base_weights()) == "B"
    absent = features.candidates[2, [CANDIDATE_NAMES.index(n) for n in ("bm25", "proximity")]]
    assert absent.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("context", [None, "", "the of and"])
def test_where_there_is_nothing_to_say_the_policy_says_so(context):
    features = Reader(passages().slice(0, 0), 3).features(prompt("Who?", context=context))
    # Plain, as an answer line, after a reason, and as JSON; the form with a unit is the plain one.
    assert len(features.distribution(base_weights(), 1.0).strings) == 4
    assert features.answers == [UNKNOWN]
    assert greedy(features, base_weights()) == UNKNOWN


def test_an_empty_prompt_is_refused(reader):
    with pytest.raises(PromptError, match="no text"):
        reader.features(prompt("", text=" \n"))


def test_a_checkpoint_names_itself_by_its_weights_and_comes_back(tmp_path):
    checkpoint = base_checkpoint()
    (tmp_path / "weights.json").write_bytes(checkpoint.to_bytes())
    assert Checkpoint.load(tmp_path) == checkpoint
    moved = base_weights()
    moved[0] += 1e-12
    assert Checkpoint.make(moved, 1).policy_id != checkpoint.policy_id
    assert Checkpoint.make(base_weights(), 5).policy_id == checkpoint.policy_id == policy_id_of(tuple(base_weights().tolist()))
    assert len(NAMES) == len(set(NAMES)) == len(base_weights())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"engine_version": "0"}, "written for version 0"),
        ({"weights": [1.0]}, "finite weights"),
        ({"policy_id": "reader-000000000000"}, "not that of its weights"),
        ({"names": ["x"]}, "with 1 weights"),
        ({"surplus": 1}, "surplus"),
    ],
)
def test_a_checkpoint_that_means_something_else_is_refused(tmp_path, change, message):
    (tmp_path / "weights.json").write_text(json.dumps(json.loads(base_checkpoint().to_bytes()) | change))
    with pytest.raises(CheckpointError, match=message):
        Checkpoint.load(tmp_path)


def test_a_prompt_is_rendered_with_its_system_message_before_it():
    plain = prompt("Q?")
    assert plain.rendered == "Q?"
    assert dataclasses.replace(plain, system="Be brief.").rendered == "Be brief.\n\nQ?"
