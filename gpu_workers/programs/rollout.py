"""Program ``rollout``: a prompt in, samples of a policy with tokens and log-probabilities out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.program import ITEM_ERRORS, Begun, Clock, Finished, Item, Origin, Row, describe, failure_class_of
from schemas.handoff import RunPlan
from schemas.ids import canonical_json
from udfs.reader.checkpoint import ENGINE, ENGINE_VERSION, Checkpoint, CheckpointError
from udfs.reader.passages import PASSAGES
from udfs.reader.policy import PromptError, Reader, Sample, draw, options_of, sample_seed
from udfs.reader.question import Prompt
from udfs.reader.trie import encode

PASSAGES_FILE = "passages.parquet"
#: The reader computes its distributions in double precision.
DTYPE = "float64"


class ReaderProgram:
    """Samples with the embedded policy; one prompt is one group, and fails or succeeds as a whole."""

    def __init__(self, plan: RunPlan, checkpoint: Checkpoint, reader: Reader, clock: Clock) -> None:
        self._plan, self._checkpoint, self._reader, self._clock = plan, checkpoint, reader, clock
        self._temperature = float(plan.settings["temperature"])
        self._max_tokens = int(plan.settings["max_response_tokens"])

    @classmethod
    def load(cls, plan: RunPlan, folder: Path, clock: Clock) -> ReaderProgram:
        """The policy of ``plan/policy``: weights and passages.

        Raises:
            RefusedRunError: the files are missing, or are not those that the plan names.
        """
        try:
            checkpoint = Checkpoint.load(folder)
            passages = pq.read_table(folder / PASSAGES_FILE).cast(PASSAGES)
        except (CheckpointError, OSError, pa.ArrowInvalid) as error:
            raise RefusedRunError.from_policy(str(folder), describe(error)) from error
        if checkpoint.policy_id != plan.policy_id:
            raise RefusedRunError.from_policy(str(folder), f"holds policy {checkpoint.policy_id}, the plan names {plan.policy_id}")
        return cls(plan, checkpoint, Reader(passages, int(plan.settings["passages_per_question"])), clock)

    def generate(self, items: Sequence[Item], origin: Origin, begun: Begun) -> Iterator[Finished]:
        """All samples of one prompt after the other, in the order of the items."""
        for item in items:
            begun([item["prompt_id"]])
            yield self._answer(item, origin)

    def failed(self, item: Item, origin: Origin, failure_class: str, reason: str) -> Finished:
        """A row for every sample that was asked for, so that each is accounted for."""
        now = self._clock()
        rows = [
            {
                **self._base(item, origin, index, now),
                "response_text": None,
                "prompt_token_ids": None,
                "response_token_ids": None,
                "response_logprobs": None,
                "finish_reason": "error",
                "failure_class": failure_class,
                "raw": canonical_json({"reason": reason}),
            }
            for index in range(item["n_samples"])
        ]
        return Finished(item["prompt_id"], rows)

    def _answer(self, item: Item, origin: Origin) -> Finished:
        started = self._clock()
        try:
            prompt = prompt_of(item)
            distribution = self._reader.features(prompt).distribution(self._checkpoint.vector, self._temperature)
            seeds = [self._seed(item, index) for index in range(item["n_samples"])]
            samples = [draw(distribution, seed, self._max_tokens) for seed in seeds]
        except PromptError as error:
            return self.failed(item, origin, "prompt_invalid", describe(error))
        except ITEM_ERRORS as error:
            return self.failed(item, origin, failure_class_of(error), describe(error))
        prompt_ids = encode(prompt.rendered)
        rows = [self._base(item, origin, index, started) | _sampled(sample, prompt_ids) for index, sample in enumerate(samples)]
        return Finished(item["prompt_id"], rows)

    def _seed(self, item: Item, index: int) -> int:
        return sample_seed(item["seed"], item["prompt_id"], index, self._checkpoint.policy_id)

    def _base(self, item: Item, origin: Origin, index: int, started: datetime) -> Row:
        return {
            "run_id": self._plan.run_id,
            "round": item["round"],
            "prompt_id": item["prompt_id"],
            "sample_index": index,
            "dialect": "verilake",
            "engine": ENGINE,
            "engine_version": ENGINE_VERSION,
            "policy_id": self._checkpoint.policy_id,
            "policy_version": self._plan.policy_version,
            "seed": self._seed(item, index),
            "temperature": self._temperature,
            "top_p": 1.0,
            "logprobs_mode": "processed",
            "prompt_text": rendered(item),
            "program": self._plan.program,
            "dtype": DTYPE,
            "sampling": canonical_json({"max_tokens": self._max_tokens, "temperature": self._temperature, "top_p": 1.0}),
            "worker_id": origin.worker_id,
            "attempt": origin.attempt,
            "started_at": started,
            "finished_at": self._clock(),
        }


def _sampled(sample: Sample, prompt_ids: list[int]) -> Row:
    """What a sample fills of its row."""
    return {
        "response_text": sample.text,
        "prompt_token_ids": prompt_ids,
        "response_token_ids": sample.token_ids,
        "response_logprobs": sample.log_probs,
        "finish_reason": sample.finish_reason,
        "failure_class": None,
        "raw": "{}",
        "prompt_tokens": len(prompt_ids),
        "cached_tokens": 0,
        "completion_tokens": len(sample.token_ids),
    }


def rendered(item: Item) -> str:
    """The prompt of an item as the engine sees it."""
    return Prompt(item["prompt_id"], item["system"], item["text"], "", "").rendered


def prompt_of(item: Item) -> Prompt:
    """A prompt from an item of a shard.

    Raises:
        PromptError: its options are no JSON list of strings.
    """
    return Prompt(
        prompt_id=item["prompt_id"],
        system=item["system"],
        text=item["text"],
        question=item["question"],
        subject=item["subject"],
        context=item["context"],
        options=options_of(item["prompt_id"], item["options"]),
    )
