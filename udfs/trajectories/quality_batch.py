"""Arrow in, Arrow out: gathered groups of trajectories become rows of silver.trajectory_verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from schemas.silver.trajectory_verdicts import TRAJECTORY_VERDICTS
from udfs.trajectories.copying import Source
from udfs.trajectories.quality import Attempt, Component, QualityVerdict, judge_group


def judge_batches(batches: Iterable[pa.RecordBatch], *, length_factor: float) -> Iterator[pa.RecordBatch]:
    """Judge every group.

    Args:
        batches: one row a group: round; prompt, context (string or null), options (JSON list or null) of its prompt; attempts, a list of
            structs with the fields of :class:`Attempt`, whose rewards are a list of structs with the fields of :class:`Component`.
        length_factor: see :func:`judge_group`.
    """
    for batch in batches:
        rows = [_row(verdict, group["round"]) for group in batch.to_pylist() for verdict in _judged(group, length_factor)]
        yield pa.RecordBatch.from_pylist(rows, schema=TRAJECTORY_VERDICTS.schema)


def _judged(group: dict[str, Any], length_factor: float) -> list[QualityVerdict]:
    options = json.loads(group["options"]) if group["options"] else []
    source = Source.of(group["prompt"] or "", group["context"], options)
    attempts = []
    for given in group["attempts"]:
        rewards = tuple(
            Component(r["name"], r["value"], r["verdict"], r["is_outcome"], tuple(r["flags"] or ())) for r in given["rewards"] or ()
        )
        attempts.append(Attempt(**{**given, "rewards": tuple(sorted(rewards, key=lambda r: (r.name, r.verdict)))}))
    return judge_group(attempts, source, length_factor=length_factor)


def _row(verdict: QualityVerdict, round_number: int) -> dict[str, Any]:
    return {**asdict(verdict), "flags": list(verdict.flags), "round": round_number}
