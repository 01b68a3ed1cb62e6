"""GRPO on the reader's weights, in plain numpy.

A step draws ``samples`` responses for each of ``prompts_per_step`` prompts, grades them by the real grader, and moves the weights along

    1/P sum over prompts of  weight / n  sum over known samples i of  A_i  grad ln p(y_i)

with the group-relative advantage A of Shao et al., "DeepSeekMath" (2024), equation 3, in the form of Liu et al., "Understanding
R1-Zero-Like Training" (2025, Dr. GRPO): A_i = r_i - mean of the group, not divided by its standard deviation, which would make the
groups that are nearly always right or nearly always wrong count most. The gradient is exact (no token is approximated). There is
one update for each batch, so that old and new policy are the same, their ratio is 1, and there is nothing to clip.

A group whose known rewards are all equal gives exactly 0 (R§5); a sample without a known reward is no part of its group (law 6).

Equal inputs give equal weights, bit for bit on one machine: every draw is named by ids, every sum has one order, BLAS is not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from schemas.errors import VerilakeError
from schemas.ids import uniform_from
from udfs.reader.environment import Distribution, Environment
from udfs.stats.group import Estimator, advantages, group_statistics

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: A change that can alter the weights raises it.
TRAINER_VERSION = "1"
ESTIMATOR: Estimator = "dr_grpo"

#: Adam: Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2015), algorithm 1 with its usual values.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class TrainingError(VerilakeError):
    """Nothing can be trained from these prompts."""

    exit_code = 3

    @classmethod
    def from_no_prompts(cls, where: str) -> TrainingError:
        """There are none."""
        return cls(f"{where}: no prompt to train on. Plan a round with plan.train_prompts above 0, or set train.trainer = 'none'.")


@dataclass(frozen=True)
class TrainPrompt:
    """A prompt of the training set with its environment and its weight in training."""

    prompt_id: str
    environment: Environment
    weight: float = 1.0


@dataclass(frozen=True)
class Settings:
    """Everything that decides the result besides prompts, passages and parent.

    Attributes:
        steps, prompts_per_step, samples: size of the training.
        learning_rate: of Adam.
        pull: share of the learning rate by which each step draws the weights back to the parent's (decoupled weight decay towards
            it; Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019).
        temperature: of the draws; the one that rounds are rolled out with.
    """

    steps: int
    prompts_per_step: int
    samples: int
    learning_rate: float
    pull: float
    temperature: float


@dataclass(frozen=True)
class Seed:
    """What names every draw of a training: the campaign's seed, the parent and the replica."""

    campaign: int
    policy_id: str
    replica: int


@dataclass(frozen=True, slots=True)
class StepFigures:
    """One step: reward over its known samples (None where there are none), and what its groups were."""

    mean_reward: float | None
    samples: int
    unknown: int
    groups: int
    groups_with_variance: int


@dataclass(frozen=True)
class Trained:
    """The weights after training, and what each step saw."""

    weights: Floats
    curve: tuple[StepFigures, ...]


def train(prompts: Sequence[TrainPrompt], parent: Floats, settings: Settings, seed: Seed) -> Trained:
    """Train from the parent's weights; the order in which ``prompts`` are given does not matter.

    Raises:
        TrainingError: there is no prompt.
    """
    if not prompts:
        raise TrainingError.from_no_prompts("the training set")
    weights, adam = parent.copy(), Adam.start(len(parent), settings.learning_rate)
    curve: list[StepFigures] = []
    for step, batch in enumerate(batches(prompts, settings, seed)):
        groups = [_group(prompt, weights, settings, seed, step) for prompt in batch]
        gradient = np.zeros_like(weights)
        for group in groups:
            if group.gradient is not None:
                gradient += group.gradient
        weights = adam.ascend(weights, gradient / len(groups)) - settings.learning_rate * settings.pull * (weights - parent)
        curve.append(_figures([group.rewards for group in groups]))
    return Trained(weights, tuple(curve))


def batches(prompts: Sequence[TrainPrompt], settings: Settings, seed: Seed) -> Iterator[list[TrainPrompt]]:
    """The prompts of each step: all of them in a new order again and again, so that each is drawn equally often, give or take one."""
    ordered = sorted(prompts, key=lambda prompt: prompt.prompt_id)
    size, epoch = min(settings.prompts_per_step, len(ordered)), 0
    waiting: list[TrainPrompt] = []
    for _ in range(settings.steps):
        if len(waiting) < size:
            parts = ("epoch", seed.campaign, seed.policy_id, seed.replica, epoch)
            begun = {prompt.prompt_id for prompt in waiting}
            order = sorted(ordered, key=lambda prompt: (uniform_from(*parts, prompt.prompt_id), prompt.prompt_id))
            # No prompt twice in the batch in which two orders meet: its draws would be the same ones.
            waiting += [p for p in order if p.prompt_id not in begun] + [p for p in order if p.prompt_id in begun]
            epoch += 1
        yield waiting[:size]
        waiting = waiting[size:]


@dataclass(frozen=True, slots=True)
class _Group:
    rewards: list[float | None]
    gradient: Floats | None


def _group(prompt: TrainPrompt, weights: Floats, settings: Settings, seed: Seed, step: int) -> _Group:
    held = prompt.environment.distribution(weights, settings.temperature)
    drawn = draws(prompt, held, settings.samples, seed, step)
    rewards = [prompt.environment.reward(response) for response in drawn]
    coefficients = group_coefficients(drawn, rewards)
    if not coefficients:
        return _Group(rewards, None)
    return _Group(rewards, prompt.weight * prompt.environment.gradient(held, coefficients, settings.temperature))


def draws(prompt: TrainPrompt, held: Distribution, samples: int, seed: Seed, step: int) -> list[int]:
    """Responses of one group; each draw depends on its ids alone."""
    parts = ("grpo", seed.campaign, seed.policy_id, seed.replica, step, prompt.prompt_id)
    return [held.at(uniform_from(*parts, sample)) for sample in range(samples)]


def group_coefficients(drawn: Sequence[int], rewards: Sequence[float | None]) -> dict[int, float]:
    """Response -> sum of A / n over the known samples that gave it; empty where the group teaches nothing.

    Args:
        drawn: response of each sample.
        rewards: its reward, None where unknown.
    """
    stats = group_statistics(rewards)
    if stats.n_valid == 0 or stats.zero_variance:
        return {}
    shares: dict[int, list[float]] = {}
    for response, advantage in zip(drawn, advantages(rewards, ESTIMATOR), strict=True):
        if advantage is not None:
            shares.setdefault(response, []).append(advantage / stats.n_valid)
    return {response: math.fsum(values) for response, values in sorted(shares.items())}


def _figures(groups: Sequence[list[float | None]]) -> StepFigures:
    known = [reward for rewards in groups for reward in rewards if reward is not None]
    drawn = sum(len(rewards) for rewards in groups)
    varied = sum(1 for rewards in groups if (stats := group_statistics(rewards)).n_valid and not stats.zero_variance)
    return StepFigures(math.fsum(known) / len(known) if known else None, drawn, drawn - len(known), len(groups), varied)


@dataclass
class Adam:
    """Moments of the gradient; every operation is elementwise."""

    learning_rate: float
    first: Floats
    second: Floats
    step: int = 0

    @classmethod
    def start(cls, size: int, learning_rate: float) -> Adam:
        """No step taken yet."""
        return cls(learning_rate, np.zeros(size), np.zeros(size))

    def ascend(self, weights: Floats, gradient: Floats) -> Floats:
        """The weights one step up the gradient; a weight that never had a gradient stays exactly as it is."""
        self.step += 1
        self.first = BETA_1 * self.first + (1.0 - BETA_1) * gradient
        self.second = BETA_2 * self.second + (1.0 - BETA_2) * gradient * gradient
        first, second = self.first / (1.0 - BETA_1**self.step), self.second / (1.0 - BETA_2**self.step)
        return np.asarray(weights + self.learning_rate * first / (np.sqrt(second) + EPSILON))
