"""Staleness ratios of a round: recorded log-probabilities (silver.tokens) beside re-scored ones (bronze.rescored), part by part. No JVM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from jobs.views.reader import LakeReader
from jobs.views.reward_inputs import read_slice
from schemas.bronze.rescored import RESCORED
from schemas.errors import UnknownIdError
from schemas.silver.calls import CALLS
from schemas.silver.tokens import TOKENS
from udfs.rewards.staleness import Bounds, RatioSums, SequenceRatios, token_ratios

#: Re-scored tokens that are held at once (4 bytes each), and turns that are read beside them; each part reads the tables once.
PART_TOKENS, BATCH_TURNS = 50_000_000, 2_048
_SCORED = ("run_id", "trajectory_id", "turn_index", "policy_id", "policy_version", "temperature", "logprobs_mode", "failure_class")


class UnknownScorerError(UnknownIdError):
    """No token of the round was re-scored under this checkpoint."""

    @classmethod
    def from_policy(cls, policy_id: str, held: Sequence[str]) -> UnknownScorerError:
        """Names those that there are."""
        return cls(f"{policy_id}: nothing of this round was re-scored under it. There is: {', '.join(held) or 'nothing re-scored at all'}")


@dataclass(frozen=True)
class Ratios:
    """Ratios by trajectory of the round.

    Attributes:
        policy_id: checkpoint that re-scored.
        policy_version: ordinal of its weights.
        place: number of each trajectory with a re-scored turn, in order; ``columns`` has an entry for each.
        columns: the ratios (udfs.rewards.staleness).
        not_comparable: turns that were re-scored at another temperature than they were sampled at, or of which one side recorded raw
            log-probabilities: ratios of other distributions than the one sampled from (R§6), taken for unknown.
        failed: turns whose re-scoring failed.
    """

    policy_id: str
    policy_version: int
    place: npt.NDArray[np.int64]
    columns: SequenceRatios
    not_comparable: int
    failed: int


@dataclass
class _Scored:
    """Turns re-scored under one checkpoint: (trajectory, turn) -> the run whose row counts."""

    runs: dict[tuple[str, int], str] = field(default_factory=dict)
    not_comparable: int = 0
    failed: int = 0


def round_ratios(reader: LakeReader, round_no: int, facts: pa.Table, bounds: Bounds, against: str | None = None) -> Ratios | None:
    """Ratios of everything that was re-scored; None where nothing was.

    Args:
        reader: the lake.
        round_no: round.
        facts: trajectories in order, with their lengths.
        bounds: truncation.
        against: checkpoint that re-scored; the one with the newest weights where left out.

    Raises:
        UnknownScorerError: ``against`` re-scored nothing here.
    """
    rows = read_slice(reader, RESCORED, round_no, _SCORED)
    scorers = sorted(set(zip(rows["policy_version"].to_pylist(), rows["policy_id"].to_pylist(), strict=True)))
    wanted = [scorer for scorer in scorers if against in (None, scorer[1])]
    if against is not None and not wanted:
        raise UnknownScorerError.from_policy(against, sorted({policy for _, policy in scorers}))
    if not wanted:
        return None
    version, policy = wanted[-1]
    held = rows.filter((pc.field("policy_id") == policy) & (pc.field("policy_version") == version))
    scored = _counting(held, read_slice(reader, CALLS, round_no, ("trajectory_id", "turn_index", "temperature", "logprobs_mode")))
    idents = facts["trajectory_id"].to_pylist()
    asked = set(held["trajectory_id"].to_pylist())
    place = [at for at, ident in enumerate(idents) if ident in asked]
    same = (ds.field("policy_id") == policy) & (ds.field("policy_version") == version)
    parts = [_part(reader, round_no, [idents[at] for at in part], scored, same, bounds) for part in _parts(place, facts)]
    return Ratios(policy, version, np.array(place, dtype=np.int64), _joined(parts), scored.not_comparable, scored.failed)


def _counting(rows: pa.Table, calls: pa.Table) -> _Scored:
    """Which row speaks for each turn: of several deliveries the first successful one by run."""
    sampled = {(c["trajectory_id"], c["turn_index"]): (c["temperature"], c["logprobs_mode"]) for c in calls.to_pylist()}
    scored, turns = _Scored(), set()
    for row in sorted(rows.to_pylist(), key=lambda r: (r["trajectory_id"], r["turn_index"], r["run_id"])):
        key = (row["trajectory_id"], row["turn_index"])
        turns.add(key)
        if row["failure_class"] is None:
            scored.runs.setdefault(key, row["run_id"])
            if scored.runs[key] == row["run_id"] and not _comparable(row, sampled.get(key)):
                scored.runs[key] = ""
    scored.failed = len(turns - scored.runs.keys())
    scored.not_comparable = sum(not run for run in scored.runs.values())
    return scored


def _comparable(row: dict[str, Any], sampled: tuple[float, str] | None) -> bool:
    """Whether both sides are of the distribution that was sampled from; a call that is not recorded contradicts nothing."""
    now = (row["temperature"], row["logprobs_mode"])
    return now[1] == "processed" and (sampled is None or sampled == now)


def _parts(place: Sequence[int], facts: pa.Table) -> Iterator[list[int]]:
    """Trajectories by the part in which they are read: the memory that a part takes is bounded, whatever the round's size."""
    lengths = facts["response_length"].to_pylist()
    part: list[int] = []
    tokens = 0
    for at in place:
        size = lengths[at] or 0
        if part and tokens + size > PART_TOKENS:
            yield part
            part, tokens = [], 0
        part.append(at)
        tokens += size
    if part:
        yield part


def _part(
    reader: LakeReader, round_no: int, idents: list[str], scored: _Scored, same: ds.Expression, bounds: Bounds
) -> SequenceRatios:  # fmt: skip
    """Ratios of some trajectories: their re-scored turns are held, the recorded ones pass by."""
    wanted = ds.field("trajectory_id").isin(idents)
    rows = read_slice(reader, RESCORED, round_no, ("trajectory_id", "turn_index", "run_id", "log_probs"), wanted & same)
    keys = zip(rows["trajectory_id"].to_pylist(), rows["turn_index"].to_pylist(), rows["run_id"].to_pylist(), strict=True)
    row_of = {(ident, turn): at for at, (ident, turn, run) in enumerate(keys) if scored.runs.get((ident, turn)) == run}
    now = rows["log_probs"].combine_chunks()
    number = {ident: at for at, ident in enumerate(idents)}
    sums = RatioSums(len(idents), bounds)
    for turns in _turns(reader, round_no, wanted):
        owner = turns["trajectory_id"].to_pylist()
        beside = pa.array([row_of.get(key) for key in zip(owner, turns["turn_index"].to_pylist(), strict=True)], pa.int64())
        ratios = token_ratios(turns["rollout_log_probs"], now.take(beside), turns["response_mask"])
        sums.add(ratios, np.array([number[ident] for ident in owner], dtype=np.int64), turns["policy_version"])
    return sums.ratios()


def _turns(reader: LakeReader, round_no: int, wanted: ds.Expression) -> Iterator[pa.RecordBatch]:
    delta = reader.delta(TOKENS)
    if delta is None:
        return
    columns = ["trajectory_id", "turn_index", "response_mask", "rollout_log_probs", "policy_version"]
    condition = (ds.field("round") == round_no) & wanted
    yield from reader.lake.dataset(TOKENS, delta).to_batches(
        columns=columns, filter=condition, batch_size=BATCH_TURNS, batch_readahead=2, fragment_readahead=1
    )


def _joined(parts: Sequence[SequenceRatios]) -> SequenceRatios:
    names = SequenceRatios.__dataclass_fields__
    return SequenceRatios(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
