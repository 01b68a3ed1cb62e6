"""The policy: from a prompt to features, from features and weights to a distribution over responses, from a seed to a sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from schemas.errors import VerilakeError
from schemas.ids import seed_from
from udfs.reader.bm25 import Bm25
from udfs.reader.features import CANDIDATE_NAMES, Passage, abstention, matrix, put_frequency
from udfs.reader.question import Prompt, Question
from udfs.reader.spans import Words
from udfs.reader.trie import END, TokenDistribution
from udfs.reader.words import terms
from udfs.reader.wrappers import WRAPPERS, wrap, wrapper_matrix

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: What the policy says when it does not know; always a candidate, so that every prompt has an answer.
UNKNOWN = "unknown"


class PromptError(VerilakeError):
    """A prompt that the policy cannot be given."""

    @classmethod
    def from_empty(cls, prompt_id: str) -> PromptError:
        """It asks nothing."""
        return cls(f"prompt {prompt_id}: it has no text. A prompt of gold.prompts is rendered and not empty.")

    @classmethod
    def from_options(cls, prompt_id: str, options: str) -> PromptError:
        """Its options cannot be read."""
        return cls(f"prompt {prompt_id}: options must be a JSON list of strings, got {options[:80]!r}.")


@dataclass(frozen=True)
class PromptFeatures:
    """All that weights act upon; what a trainer needs to move them.

    Attributes:
        answers: candidate answers, one a row of ``candidates``; equal strings may occur more than once.
        candidates: float64 (answers, candidate weights).
        wrappers: float64 (forms, wrapper weights).
        responses: response string of answer a in form f at ``a * len(forms) + f``.
    """

    answers: list[str]
    candidates: Floats
    wrappers: Floats
    responses: list[str]

    def log_marginals(self, weights: Floats, temperature: float) -> tuple[Floats, Floats]:
        """Natural logs of p(answer) and of p(form): two independent softmaxes at ``temperature``."""
        split = len(CANDIDATE_NAMES)
        answer = _log_softmax(_scores(self.candidates, weights[:split]) / temperature)
        form = _log_softmax(_scores(self.wrappers, weights[split:]) / temperature)
        return answer, form

    def log_joint(self, weights: Floats, temperature: float) -> Floats:
        """Natural log of p(answer, form), float64 (answers, forms)."""
        answer, form = self.log_marginals(weights, temperature)
        return np.asarray(answer[:, None] + form[None, :])

    def distribution(self, weights: Floats, temperature: float) -> TokenDistribution:
        """The distribution over response strings; equal strings are one."""
        return TokenDistribution(self.responses, np.exp(self.log_joint(weights, temperature)).ravel())

    def log_prob_gradient(self, weights: Floats, temperature: float, response: str) -> tuple[float, Floats]:
        """Natural log of p(response), and its gradient by the weights.

        For p = sum of joint probabilities over the pairs m that spell the response, the gradient of ln p is
        (E[x | m] - E[x]) / temperature, the first expectation over the pairs m alone.

        Raises:
            ValueError: no pair spells the response.
        """
        joint = np.exp(self.log_joint(weights, temperature))
        member = np.asarray([text == response for text in self.responses]).reshape(joint.shape)
        mass = float(joint[member].sum())
        if not mass > 0.0:
            msg = f"the policy gives no probability to {response!r}"
            raise ValueError(msg)
        posterior = np.where(member, joint, 0.0) / mass
        by_answer = (posterior.sum(axis=1) - joint.sum(axis=1)) @ self.candidates
        by_form = (posterior.sum(axis=0) - joint.sum(axis=0)) @ self.wrappers
        return float(np.log(mass)), np.concatenate([by_answer, by_form]) / temperature


@dataclass(frozen=True)
class Sample:
    """One response.

    Attributes:
        text: what was said.
        token_ids: bytes of UTF-8 and, where it was not cut, the end token.
        log_probs: float32, one a token, at the sampling temperature.
        finish_reason: stop or length.
        seed: what the draw was seeded with.
    """

    text: str
    token_ids: list[int]
    log_probs: np.ndarray[Any, np.dtype[np.float32]]
    finish_reason: str
    seed: int


class Reader:
    """The retrieval side of the policy: an index over passages, and features of prompts; it has no weights.

    Results do not depend on the order of the passages given.
    """

    def __init__(self, passages: pa.Table, passages_per_question: int) -> None:
        """Index ``passages`` (``udfs.reader.passages.PASSAGES``)."""
        ordered = passages.sort_by("passage_id")
        self._texts = ordered.column("text")
        self._titles = ordered.column("title")
        self._index = Bm25.build(ordered.column("terms"))
        self._k = passages_per_question
        # A campaign asks about the same passages again and again; a passage's words are small.
        self._words = lru_cache(maxsize=4096)(self._read)

    def _read(self, number: int) -> tuple[Words, tuple[str, ...]]:
        return Words.read(self._texts[number].as_py()), tuple(terms(self._titles[number].as_py()))

    def features(self, prompt: Prompt) -> PromptFeatures:
        """Candidates and features of a prompt.

        Raises:
            PromptError: the prompt asks nothing.
        """
        if not prompt.text.strip():
            raise PromptError.from_empty(prompt.prompt_id)
        question = Question.read(prompt)
        answers, rows = self._options(prompt, question) if prompt.options else self._spans(prompt, question)
        put_frequency(rows, answers)
        answers, rows = [*answers, UNKNOWN], np.asfortranarray(np.concatenate([rows, abstention()]))
        responses = [wrap(form, answer, prompt, question) for answer in answers for form in WRAPPERS]
        return PromptFeatures(answers, rows, wrapper_matrix(question), responses)

    def _passages(self, prompt: Prompt, question: Question) -> list[Passage]:
        """The quoted passage where there is one, else the best of the index."""
        if prompt.context is not None:
            return [Passage(Words.read(prompt.context), tuple(terms(prompt.subject)), 1.0, 0)]
        found = self._index.top(question.terms, self._k)
        return [Passage(*self._words(number), score / found[0][1], rank) for rank, (number, score) in enumerate(found)]

    def _spans(self, prompt: Prompt, question: Question) -> tuple[list[str], Floats]:
        answers: list[str] = []
        rows = [np.zeros((0, len(CANDIDATE_NAMES)))]
        for passage in self._passages(prompt, question):
            first, last = passage.words.spans
            rows.append(matrix(question, passage, (first, last), self._index.idf_of))
            answers.extend(passage.words.string(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True))
        return answers, np.concatenate(rows)

    def _options(self, prompt: Prompt, question: Question) -> tuple[list[str], Floats]:
        """Letters of the options, each with the features of its best place (the nearest to the question's terms) in the passages."""
        rows = np.zeros((len(prompt.options), len(CANDIDATE_NAMES)))
        proximity = CANDIDATE_NAMES.index("proximity")
        for passage in self._passages(prompt, question):
            for k, option in enumerate(prompt.options):
                found = matrix(question, passage, passage.words.find(option), self._index.idf_of)
                if len(found):
                    best = found[int(np.argmax(found[:, proximity]))]
                    if best[proximity] > rows[k, proximity]:
                        rows[k] = best
        return [chr(ord("A") + k) for k in range(len(prompt.options))], rows


def options_of(prompt_id: str, options: str) -> tuple[str, ...]:
    """Options of a prompt from the JSON that tables and shards carry.

    Raises:
        PromptError: it is no JSON list of strings.
    """
    try:
        held = json.loads(options)
    except ValueError:
        held = None
    if not isinstance(held, list) or not all(isinstance(option, str) for option in held):
        raise PromptError.from_options(prompt_id, options)
    return tuple(held)


def draw(distribution: TokenDistribution, seed: int, max_tokens: int) -> Sample:
    """One response for a seed; a response longer than ``max_tokens`` is cut there, without an end token."""
    index = distribution.sample(float(np.random.Generator(np.random.PCG64(seed)).random()))
    ids, values = distribution.tokens(index), distribution.log_probs(index)
    cut = len(ids) > max_tokens
    ids, values = ids[:max_tokens], values[:max_tokens]
    text = bytes(i for i in ids if i != END).decode("utf-8", "replace")
    return Sample(text, ids, values.astype(np.float32), "length" if cut else "stop", seed)


def sample_seed(seed: int, prompt_id: str, sample_index: int, policy_id: str) -> int:
    """Seed of one sample; it depends on nothing but these."""
    return seed_from(seed, prompt_id, sample_index, policy_id)


def _scores(x: Floats, weights: Floats) -> Floats:
    """``x @ weights``, added column by column: BLAS may order the sum by the number of cores."""
    total = np.zeros(len(x))
    for k, weight in enumerate(weights.tolist()):
        if weight:
            total += weight * x[:, k]
    return total


def _log_softmax(scores: Floats) -> Floats:
    shifted = scores - scores.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


def greedy(features: PromptFeatures, weights: Floats) -> str:
    """The most probable answer, without its form."""
    split = len(CANDIDATE_NAMES)
    mass: dict[str, float] = {}
    for answer, value in zip(features.answers, np.exp(_log_softmax(_scores(features.candidates, weights[:split]))).tolist(), strict=True):
        mass[answer] = mass.get(answer, 0.0) + value
    return max(sorted(mass), key=lambda answer: mass[answer])


def answers_of(features: PromptFeatures, weights: Floats, temperature: float, wanted: Sequence[str]) -> float:
    """Probability that the answer is one of ``wanted``, whatever its form."""
    joint = np.exp(features.log_joint(weights, temperature)).sum(axis=1)
    return float(sum(p for answer, p in zip(features.answers, joint.tolist(), strict=True) if answer in set(wanted)))
