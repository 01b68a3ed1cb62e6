"""The trainer: its gradient, its draws, its groups, its determinism, and that it learns what can be learnt."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from schemas.contract import AnswerContract
from udfs.reader.checkpoint import NAMES, Checkpoint, base_weights
from udfs.reader.environment import SIZE, Environment, expected_reward
from udfs.reader.grpo import Adam, Seed, Settings, TrainingError, TrainPrompt, batches, draws, group_coefficients, train
from udfs.reader.passages import passages_of
from udfs.reader.policy import Reader, draw
from udfs.reader.question import Prompt

ROOT = Path(__file__).resolve().parents[2]
LETTERS = "abcdefgh"


def documents(count=8):
    """Pages that state a default and a base class each; which one is asked for decides where the answer stands."""
    for k in range(count):
        name = f"pkg{k}.Thing{LETTERS[k]}"
        yield (
            f"d{k}",
            name,
            f"{name}\n\nClass of module pkg{k}.\n\nBases: io.Base{LETTERS[k].upper()}\n\nParameters:\n  size (default: {k + 11})\n  mode\n",
        )


def passages():
    rows = list(documents())
    return pa.Table.from_batches(
        [passages_of(pa.RecordBatch.from_pydict({n: [r[k] for r in rows] for k, n in enumerate(("doc_id", "title", "text"))}))]
    )


@pytest.fixture(scope="module")
def reader():
    return Reader(passages(), 3)


def environment(reader, question, contract, *, text="{q}", max_tokens=128, **further):
    prompt = Prompt("p", "", text.format(q=question), question, "", **further)
    return Environment(reader.features(prompt), contract.canonical(), max_tokens)


def default_of(reader, k, **contract):
    question = f"What is the default value of the parameter `size` of `pkg{k}.Thing{LETTERS[k]}`?"
    text = "Reply in JSON. {q}" if contract.get("format") == "json" else "{q}"
    return environment(reader, question, AnswerContract(type="text", gold=str(k + 11), **contract), text=text)


def base_of(reader, k):
    question = f"Which class is the direct base class of `pkg{k}.Thing{LETTERS[k]}`?"
    return environment(reader, question, AnswerContract(type="text", gold=f"io.Base{LETTERS[k].upper()}"))


@pytest.fixture(scope="module")
def prompts(reader):
    tasks = [*((f"default{k}", default_of(reader, k)) for k in range(6)), *((f"base{k}", base_of(reader, k)) for k in range(6))]
    tasks += [(f"json{k}", default_of(reader, k, format="json")) for k in range(2)]
    return [TrainPrompt(name, world) for name, world in tasks]


SETTINGS = Settings(steps=40, prompts_per_step=8, samples=8, learning_rate=0.05, pull=0.0, temperature=1.0)
SEED = Seed(7, "reader-parent", 0)


def test_the_indexed_gradient_is_that_of_the_policy_summed_over_samples(reader):
    world = default_of(reader, 2)
    features = reader.features(Prompt("p", "", "q", "What is the default value of the parameter `size` of `pkg2.Thingc`?", ""))
    rng = np.random.default_rng(3)
    for temperature in (1.0, 0.7):
        weights = base_weights() + rng.normal(size=len(NAMES)) / 4
        held = world.distribution(weights, temperature)
        chosen = {int(k): float(c) for k, c in zip(rng.choice(len(world.responses), 12, replace=False), rng.normal(size=12), strict=True)}
        by_hand = np.zeros(SIZE)
        for response, factor in chosen.items():
            value, gradient = features.log_prob_gradient(weights, temperature, world.text(response))
            assert math.log(held.mass[response]) == pytest.approx(value, abs=1e-10)
            by_hand += factor * gradient
        np.testing.assert_allclose(world.gradient(held, chosen, temperature), by_hand, atol=1e-10)


def test_draws_come_from_the_distribution_that_workers_sample_and_are_cut_as_theirs(reader):
    for limit in (128, 5):
        world = default_of(reader, 1)
        features = world._features
        cut = Environment(features, "{}", limit)
        held, token_wise = cut.distribution(base_weights(), 1.0), features.distribution(base_weights(), 1.0)
        assert held.mass.sum() == pytest.approx(1.0, abs=1e-12)
        for seed in range(200):
            uniform = float(np.random.Generator(np.random.PCG64(seed)).random())
            assert cut.text(held.at(uniform)) == draw(token_wise, seed, limit).text
    # Cut to five bytes, strings that begin alike are one response with the sum of their probabilities.
    assert len(cut.responses) < len(world.responses)
    assert max(map(len, cut.responses)) == 5


def test_the_gradient_of_a_cut_response_is_that_of_finite_differences(reader):
    world = Environment(default_of(reader, 1)._features, "{}", 5)
    weights = base_weights()
    held = world.distribution(weights, 1.0)
    response = max(range(len(world.responses)), key=lambda k: (len(world.responses[k]) == 5, held.mass[k]))
    gradient = world.gradient(held, {response: 1.0}, 1.0)
    for k in range(0, SIZE, 3):
        step = np.zeros(SIZE)
        step[k] = 1e-5
        up, down = (math.log(world.distribution(weights + s, 1.0).mass[response]) for s in (step, -step))
        assert gradient[k] == pytest.approx((up - down) / 2e-5, abs=1e-6), NAMES[k]


@pytest.mark.parametrize(
    ("drawn", "rewards", "wanted"),
    [
        # Dr. GRPO: r - mean = +-0.5, divided by the four samples (the golden vector 0, 0, 1, 1).
        ([5, 6, 7, 8], [0.0, 0.0, 1.0, 1.0], {5: -0.125, 6: -0.125, 7: 0.125, 8: 0.125}),
        # Equal responses are added up.
        ([5, 5, 7, 7], [0.0, 0.0, 1.0, 1.0], {5: -0.25, 7: 0.25}),
        # A group without variance teaches exactly nothing, whatever its reward.
        ([5, 6, 7, 8], [0.7] * 4, {}),
        ([5, 6, 7, 8], [0.0] * 4, {}),
        # Law 6: an unknown reward is no 0. Here it leaves two samples of equal reward: nothing to learn.
        ([5, 6, 7], [1.0, None, 1.0], {}),
        # The mean is that of the known ones alone: 1/2, not 1/3.
        ([5, 6, 7], [1.0, None, 0.0], {5: 0.25, 7: -0.25}),
        ([5, 6], [None, None], {}),
        ([5], [1.0], {}),
    ],
)
def test_group_coefficients_follow_the_formula(drawn, rewards, wanted):
    assert group_coefficients(drawn, rewards) == wanted


def test_rewards_are_those_of_the_real_grader_and_unknown_where_the_gold_is_broken(reader):
    world = default_of(reader, 3)
    found = {world.text(k): world.reward(k) for k in range(len(world.responses))}
    assert found["14"] == 1.0
    assert found["Answer: 14"] == 1.0
    assert found["unknown"] == 0.0
    form = default_of(reader, 3, format="json")
    found = {form.text(k): form.reward(k) for k in range(len(form.responses))}
    assert found['{"answer": "14"}'] == 1.0
    assert found["14"] == 0.0  # right, in the wrong form: the outcome is the product
    broken = environment(reader, "When was it?", AnswerContract(type="date", gold="no date at all"))
    assert {broken.reward(k) for k in range(len(broken.responses))} == {None}
    assert expected_reward(broken, base_weights(), 1.0) is None


def test_a_prompt_whose_gold_is_broken_moves_nothing_and_is_counted_as_unknown(reader, prompts):
    broken = TrainPrompt("broken", environment(reader, "When was it?", AnswerContract(type="date", gold="no date at all")))
    alone = train([broken], base_weights(), SETTINGS, SEED)
    assert np.array_equal(alone.weights, base_weights())
    assert {(s.mean_reward, s.samples, s.unknown, s.groups, s.groups_with_variance) for s in alone.curve} == {(None, 8, 8, 1, 0)}
    whole = train([*prompts, broken], base_weights(), Settings(1, 15, 8, 0.05, 0.0, 1.0), SEED)
    assert whole.curve[0].samples == 15 * 8
    assert whole.curve[0].unknown == 8


def test_training_raises_the_reward_and_also_that_of_prompts_it_never_saw(reader, prompts):
    def mean(tasks, weights):
        return np.mean([expected_reward(world, weights, 1.0) for world in tasks])

    unseen = [default_of(reader, 6), default_of(reader, 7), base_of(reader, 6), base_of(reader, 7)]
    trained = train(prompts, base_weights(), SETTINGS, SEED).weights
    assert mean([p.environment for p in prompts], trained) > mean([p.environment for p in prompts], base_weights()) + 0.05
    assert mean(unseen, trained) > mean(unseen, base_weights()) + 0.05


def test_equal_inputs_give_equal_weights_whatever_the_order_of_prompts_and_other_seeds_others(prompts):
    once = train(prompts, base_weights(), SETTINGS, SEED)
    again = train(prompts[::-1], base_weights(), SETTINGS, SEED)
    assert np.array_equal(once.weights, again.weights)
    assert once.curve == again.curve
    assert Checkpoint.make(once.weights, 1).policy_id == Checkpoint.make(again.weights, 1).policy_id
    for other in (Seed(8, "reader-parent", 0), Seed(7, "reader-other", 0), Seed(7, "reader-parent", 1)):
        assert not np.array_equal(train(prompts, base_weights(), SETTINGS, other).weights, once.weights)


def test_the_weights_do_not_depend_on_the_number_of_threads():
    code = (
        "import sys; sys.path.insert(0, 'tests/unit')\n"
        "import test_reader_grpo as t; from udfs.reader.policy import Reader\n"
        "from udfs.reader.checkpoint import Checkpoint, base_weights\n"
        "reader = Reader(t.passages(), 3)\n"
        "tasks = [t.TrainPrompt(str(k), t.default_of(reader, k)) for k in range(4)]\n"
        "print(Checkpoint.make(t.train(tasks, base_weights(), t.SETTINGS, t.SEED).weights, 1).policy_id)"
    )
    found = set()
    for threads in ("1", "2", "7"):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
        environ = {**os.environ, **dict.fromkeys(names, threads), "PYTHONHASHSEED": threads}
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
        found.add(done.stdout.strip())
    assert len(found) == 1
    assert found.pop().startswith("reader-")


def test_every_prompt_is_drawn_equally_often_and_never_twice_in_one_batch(prompts):
    settings = Settings(steps=7, prompts_per_step=5, samples=2, learning_rate=0.1, pull=0.0, temperature=1.0)
    drawn = [[p.prompt_id for p in batch] for batch in batches(prompts, settings, SEED)]
    assert [len(batch) for batch in drawn] == [5] * 7
    assert all(len(set(batch)) == 5 for batch in drawn)
    # 35 draws of 14 prompts: two or three of each.
    counts = [sum(batch.count(p.prompt_id) for batch in drawn) for p in prompts]
    assert sum(counts) == 35
    assert set(counts) == {2, 3}
    # Fewer prompts than a step asks for: all of them, once.
    few = [sorted(p.prompt_id for p in batch) for batch in batches(prompts[:3], settings, SEED)]
    assert few == [sorted(p.prompt_id for p in prompts[:3])] * 7


def test_a_draw_depends_on_campaign_policy_replica_step_prompt_and_sample(prompts):
    held = prompts[0].environment.distribution(base_weights(), 1.0)
    first = draws(prompts[0], held, 64, SEED, 0)
    assert draws(prompts[0], held, 64, SEED, 0) == first
    assert draws(prompts[0], held, 16, SEED, 0) == first[:16]
    for seed, step in ((Seed(8, "reader-parent", 0), 0), (Seed(7, "other", 0), 0), (Seed(7, "reader-parent", 1), 0), (SEED, 1)):
        assert draws(prompts[0], held, 64, seed, step) != first
    other = TrainPrompt("another", prompts[0].environment)
    assert draws(other, held, 64, SEED, 0) != first


def test_a_prompt_of_weight_two_counts_twice_and_one_of_weight_zero_not_at_all(prompts):
    settings = Settings(steps=1, prompts_per_step=14, samples=8, learning_rate=0.05, pull=0.0, temperature=1.0)
    nothing = train([TrainPrompt(p.prompt_id, p.environment, 0.0) for p in prompts], base_weights(), settings, SEED)
    assert np.array_equal(nothing.weights, base_weights())
    # A scale common to all is taken out by Adam (up to its epsilon); that of some changes the direction.
    doubled = train([TrainPrompt(p.prompt_id, p.environment, 2.0) for p in prompts], base_weights(), settings, SEED)
    once = train(prompts, base_weights(), settings, SEED)
    np.testing.assert_allclose(doubled.weights, once.weights, atol=1e-4)
    mixed = [TrainPrompt(p.prompt_id, p.environment, 2.0 if p.prompt_id.startswith("base") else 1.0) for p in prompts]
    several = Settings(steps=10, prompts_per_step=14, samples=8, learning_rate=0.05, pull=0.0, temperature=1.0)
    assert not np.allclose(train(mixed, base_weights(), several, SEED).weights, train(prompts, base_weights(), several, SEED).weights)


def test_adam_takes_the_steps_of_its_paper():
    # Algorithm 1 by hand for gradients 2 then -1: m = .2, .08; v = .004, .004996; corrected m = 2, .08/.19; v = 4, .004996/.001999.
    adam = Adam.start(2, 0.1)
    first = adam.ascend(np.zeros(2), np.asarray([2.0, 0.0]))
    second = adam.ascend(first, np.asarray([-1.0, 0.0]))
    assert first[0] == pytest.approx(0.1 * 2.0 / (2.0 + 1e-8), abs=1e-15)
    assert second[0] - first[0] == pytest.approx(0.1 * (0.08 / 0.19) / (math.sqrt(0.004996 / 0.001999) + 1e-8), abs=1e-12)
    assert second[1] == 0.0


def test_the_pull_keeps_the_weights_nearer_to_the_parents(prompts):
    def distance(pull):
        settings = Settings(steps=40, prompts_per_step=8, samples=8, learning_rate=0.05, pull=pull, temperature=1.0)
        return float(np.linalg.norm(train(prompts, base_weights(), settings, SEED).weights - base_weights()))

    assert distance(1.0) < distance(0.2) < distance(0.0)


def test_no_prompt_is_refused_with_what_to_do():
    with pytest.raises(TrainingError, match=r"plan\.train_prompts"):
        train([], base_weights(), SETTINGS, SEED)
    assert TrainingError.from_no_prompts("x").exit_code == 3


def test_a_checkpoint_says_which_replica_it_is_and_older_ones_are_the_first(tmp_path):
    made = Checkpoint.make(base_weights(), 1, "reader-parent", replica=2)
    (tmp_path / "weights.json").write_bytes(made.to_bytes())
    assert Checkpoint.load(tmp_path) == made
    assert made.replica == 2
    # Equal weights are one policy, whichever replica found them.
    assert made.policy_id == Checkpoint.make(base_weights(), 1).policy_id
    older = made.to_bytes().replace(b',"replica":2', b"")
    assert older != made.to_bytes()
    (tmp_path / "weights.json").write_bytes(older)
    assert Checkpoint.load(tmp_path).replica == 0
