"""Arrow in, Arrow out: the candidates of each prompt become rows of gold.sft and gold.preferences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from schemas.gold.preferences import PREFERENCES
from schemas.gold.sft import SFT
from schemas.ids import content_id
from udfs.trajectories.selection import Candidate, choose_pairs, choose_sft

_SHARED = ("round", "prompt_id", "task_id", "task_type", "system", "prompt", "licence")


def _candidates(row: dict[str, Any]) -> list[Candidate]:
    return [Candidate(**given) for given in row["candidates"]]


def sft_batches(batches: Iterable[pa.RecordBatch], *, limit: int) -> Iterator[pa.RecordBatch]:
    """Rows of gold.sft.

    Args:
        batches: one row a prompt: round, prompt_id, task_id, task_type, system, prompt, licence; candidates, a list of structs with the
            fields of :class:`Candidate`.
        limit: rows a prompt (conf: feedback.sft_per_prompt).
    """
    for batch in batches:
        rows = [
            {
                **{name: row[name] for name in _SHARED},
                "sft_id": content_id(chosen.trajectory_id, "sft"), "trajectory_id": chosen.trajectory_id,
                "response": chosen.response, "reward": chosen.reward,
            }
            for row in batch.to_pylist() for chosen in choose_sft(_candidates(row), limit)
        ]  # fmt: skip
        yield pa.RecordBatch.from_pylist(rows, schema=SFT.schema)


def pair_batches(batches: Iterable[pa.RecordBatch], *, limit: int, min_gap: float) -> Iterator[pa.RecordBatch]:
    """Rows of gold.preferences, from the same rows as :func:`sft_batches`.

    Args:
        batches: as there.
        limit: pairs a prompt (conf: feedback.pairs_per_prompt).
        min_gap: least difference of outcome rewards (conf: feedback.min_score_gap).
    """
    for batch in batches:
        rows = [
            {
                **{name: row[name] for name in _SHARED},
                "pair_id": content_id(pair.chosen.trajectory_id, pair.rejected.trajectory_id),
                "chosen": pair.chosen.response, "rejected": pair.rejected.response,
                "chosen_trajectory_id": pair.chosen.trajectory_id, "rejected_trajectory_id": pair.rejected.trajectory_id,
                "score_gap": pair.gap, "judged_by": pair.chosen.judged_by,
            }
            for row in batch.to_pylist() for pair in choose_pairs(_candidates(row), limit, min_gap)
        ]  # fmt: skip
        yield pa.RecordBatch.from_pylist(rows, schema=PREFERENCES.schema)
