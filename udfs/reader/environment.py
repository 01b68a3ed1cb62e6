"""One training prompt as a trainer meets it: what may be answered, how likely each response is, what it earns, and where the weights pull."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from udfs.reader.features import CANDIDATE_NAMES
from udfs.reader.policy import PromptFeatures
from udfs.reader.trie import decode, encode
from udfs.reader.wrappers import wrapper_names
from udfs.trajectories.rewards import grade_response, outcome_of

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

SIZE = len(CANDIDATE_NAMES) + len(wrapper_names())


@dataclass(frozen=True)
class Distribution:
    """The policy at one prompt for one vector of weights.

    Attributes:
        answers: float64 (answers,), probabilities.
        forms: float64 (forms,), probabilities.
        joint: float64 (answers x forms,), probabilities of the pairs.
        mass: float64 (responses,), probabilities of the distinct responses.
        cumulative: running sum of ``mass``.
    """

    answers: Floats
    forms: Floats
    joint: Floats
    mass: Floats
    cumulative: Floats

    def at(self, uniform: float) -> int:
        """The response at ``uniform`` in [0, 1) of the cumulative distribution."""
        index = int(np.searchsorted(self.cumulative, uniform * self.cumulative[-1], side="right"))
        return min(index, len(self.cumulative) - 1)


class Environment:
    """Responses, rewards and gradients of one prompt.

    A response is what a worker would have recorded: cut to ``max_tokens``, so that strings that begin alike and are cut are one
    response with the sum of their probabilities. Pairs (answer, form) are found by their response through an index that is
    built once; :meth:`PromptFeatures.log_prob_gradient` says the same by going through all of them.
    """

    def __init__(self, features: PromptFeatures, contract: str, max_tokens: int) -> None:
        """Index the responses of ``features``; they are graded under ``contract`` (canonical JSON) when they are first drawn."""
        self._features, self._contract = features, contract
        spelled = [bytes(encode(text)[:max_tokens]) for text in features.responses]
        self.responses: list[bytes] = sorted(set(spelled))
        number = {response: k for k, response in enumerate(self.responses)}
        self._response_of: Ints = np.asarray([number[response] for response in spelled], dtype=np.int64)
        self._pairs: Ints = np.argsort(self._response_of, kind="stable").astype(np.int64)
        self._starts: Ints = np.searchsorted(self._response_of[self._pairs], np.arange(len(self.responses) + 1)).astype(np.int64)
        # Most features are 0 throughout a prompt (types it does not ask for, cues it does not hold): their gradient is 0 as well.
        self._candidates = _Columns.of(features.candidates, 0)
        self._forms = _Columns.of(features.wrappers, features.candidates.shape[1])
        self._rewards: dict[int, float | None] = {}

    def distribution(self, weights: Floats, temperature: float) -> Distribution:
        """The policy at this prompt."""
        log_answers, log_forms = self._features.log_marginals(weights, temperature)
        joint = np.exp(log_answers[:, None] + log_forms[None, :]).ravel()
        mass: Floats = np.bincount(self._response_of, weights=joint, minlength=len(self.responses)).astype(np.float64)
        return Distribution(np.exp(log_answers), np.exp(log_forms), joint, mass, np.cumsum(mass))

    def text(self, response: int) -> str:
        """A response as a worker records it."""
        return decode(list(self.responses[response]))

    def reward(self, response: int) -> float | None:
        """What a response earns; None where that is unknown through no fault of the policy's (law 6)."""
        if response not in self._rewards:
            self._rewards[response] = outcome_of(grade_response(self._contract, self.text(response), None))
        return self._rewards[response]

    def gradient(self, held: Distribution, coefficients: Mapping[int, float], temperature: float) -> Floats:
        """Gradient of the sum of coefficient x ln p(response) by the weights, float64 (SIZE,).

        With W(a, f) = coefficient(m) p(a, f) / p(m) for the pairs of a response m it is (W - S p) x / temperature, S being the sum of
        the coefficients: PromptFeatures.log_prob_gradient, summed.

        Args:
            held: the policy at this prompt.
            coefficients: response -> its factor, say the sum of the advantages of the samples that gave it.
            temperature: the one that ``held`` was made with.
        """
        forms = len(held.forms)
        total = float(np.sum([*coefficients.values()])) if coefficients else 0.0
        by_answer, by_form = -total * held.answers, -total * held.forms
        for response, factor in sorted(coefficients.items()):
            pairs = self._pairs[self._starts[response] : self._starts[response + 1]]
            shares = factor * held.joint[pairs] / held.mass[response]
            # A pair occurs once in `pairs`, an answer or a form may occur more often.
            np.add.at(by_answer, pairs // forms, shares)
            np.add.at(by_form, pairs % forms, shares)
        gradient = np.zeros(SIZE)
        self._candidates.add(gradient, by_answer)
        self._forms.add(gradient, by_form)
        return gradient / temperature


@dataclass(frozen=True)
class _Columns:
    """The columns of a matrix that are not 0 throughout, contiguous, with their places in the vector of weights."""

    places: Ints
    values: Floats

    @classmethod
    def of(cls, matrix: Floats, offset: int) -> _Columns:
        kept = np.flatnonzero((matrix != 0.0).any(axis=0))
        return cls((kept + offset).astype(np.int64), np.asfortranarray(matrix[:, kept]))

    def add(self, gradient: Floats, by_row: Floats) -> None:
        """Add ``by_row @ values``, column by column: BLAS may order the sum by the number of cores."""
        gradient[self.places] += (self.values * by_row[:, None]).sum(axis=0)


def expected_reward(environment: Environment, weights: Floats, temperature: float, responses: Sequence[int] | None = None) -> float | None:
    """The exact expectation of the reward at a prompt; None where a response with probability has none.

    It grades every response that the policy can give: hundreds of milliseconds a prompt, for measurements and tests.
    """
    held = environment.distribution(weights, temperature)
    wanted = range(len(environment.responses)) if responses is None else responses
    rewards = [environment.reward(k) for k in wanted]
    known = [float(held.mass[k]) * reward for k, reward in zip(wanted, rewards, strict=True) if reward is not None]
    return float(np.sum(known) / held.mass.sum()) if len(known) == len(rewards) else None
