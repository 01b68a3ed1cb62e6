"""What a round's rewards are composed from, read column by column: trajectories, reward rows, judgements. No JVM."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from jobs.lake.errors import MissingInputError
from jobs.views.reader import LakeReader
from schemas.bronze.judgements import JUDGEMENTS
from schemas.conf_reward import Reward as Settings
from schemas.silver.rewards import REWARDS
from schemas.silver.trajectories import TRAJECTORIES
from schemas.table import Table
from udfs.rewards.functions import GENRM, GENRM_PAIRWISE, row_fault
from udfs.rewards.judged import Judged, Judgement, pairwise, pointwise
from udfs.rewards.round import RawRewards
from udfs.trajectories.rewards import REWARD_RANGE

_FACTS = (
    "trajectory_id", "group_id", "prompt_id", "task_id", "sample_index", "role", "task_type", "policy_id", "policy_version_min",
    "policy_version_max", "status", "prompt_length", "response_length", "outcome_reward", "failure_class",
)  # fmt: skip
_ROWS = (
    "trajectory_id", "reward_name", "verifier_run_id", "kind", "value", "weight", "is_outcome", "verdict", "verifier_name", "verifier_version",
    "low", "high",
)  # fmt: skip
_SAID = (
    "judgement_id",
    "run_id",
    "kind",
    "trajectory_a",
    "trajectory_b",
    "swapped",
    "verdict",
    "score",
    "judge",
    "template",
    "draw",
    "failure_class",
)
_ORDER: list[tuple[str, str]] = [("group_id", "ascending"), ("sample_index", "ascending"), ("trajectory_id", "ascending")]


@dataclass(frozen=True)
class RoundRows:
    """A round as read.

    Attributes:
        facts: columns of silver.trajectories in order of group, sample and id.
        rows: columns of silver.rewards, ``place`` (number of the trajectory in ``facts``) before them and ``fault`` behind.
        raw: both, and the judgements, as columns for ``udfs.rewards.round``.
    """

    facts: pa.Table
    rows: pa.Table
    raw: RawRewards


def read_round(reader: LakeReader, round_no: int, settings: Settings) -> RoundRows:
    """All trajectories of a round and what is known of their rewards.

    Raises:
        MissingInputError: the round has no trajectory.
    """
    facts = read_slice(reader, TRAJECTORIES, round_no, _FACTS).sort_by(_ORDER)
    if not facts.num_rows:
        raise MissingInputError.from_slice(TRAJECTORIES.name, f"round {round_no}", f"verilake ingest-rollouts --round {round_no}")
    rows = _placed(read_slice(reader, REWARDS, round_no, _ROWS), facts["trajectory_id"])
    judged = _judged(reader, round_no, settings)
    return RoundRows(facts, rows, _raw(facts, rows, judged, settings))


def read_slice(
    reader: LakeReader, table: Table, round_no: int, columns: Sequence[str], condition: ds.Expression | None = None
) -> pa.Table:  # fmt: skip
    """Columns of a round; those that an older lake lacks are null, and a table that it lacks is empty."""
    schema = pa.schema([table.schema.field(name) for name in columns])
    delta = reader.delta(table)
    if delta is None:
        return schema.empty_table()
    dataset = reader.lake.dataset(table, delta)
    there = [name for name in columns if name in dataset.schema.names]
    wanted = ds.field("round") == int(round_no)
    held = dataset.to_table(columns=there, filter=wanted if condition is None else wanted & condition)
    arrays = [
        held[name].cast(schema.field(name).type) if name in there else pa.nulls(held.num_rows, schema.field(name).type) for name in columns
    ]
    return pa.table(arrays, names=list(columns))


def _placed(rows: pa.Table, idents: pa.ChunkedArray) -> pa.Table:
    """Rows with the number of their trajectory, in its order; rows of no trajectory are left out (the funnel counts those)."""
    place = pc.index_in(rows["trajectory_id"], value_set=idents.combine_chunks())
    held = rows.add_column(0, "place", place).filter(pc.is_valid(place))
    held = held.sort_by([("place", "ascending"), ("reward_name", "ascending"), ("verifier_run_id", "ascending")])
    columns = (held[name].to_pylist() for name in ("reward_name", "kind", "value", "low", "high", "verdict"))
    # Most rows repeat each other: a few hundred different ones among millions.
    memo: dict[tuple[Any, ...], str | None] = {}
    faults = []
    for key in zip(*columns, strict=True):
        if key not in memo:
            memo[key] = row_fault(*key)
        faults.append(memo[key])
    return held.append_column("fault", pa.array(faults, pa.string()))


def _raw(facts: pa.Table, rows: pa.Table, judged: dict[str, Judged], settings: Settings) -> RawRewards:
    outcome, status, nothing = facts["outcome_reward"].to_pylist(), facts["status"].to_pylist(), [None] * facts.num_rows
    raw = RawRewards(
        group=facts["group_id"].to_pylist(), task_type=facts["task_type"].to_pylist(), verifier=list(nothing),
        bounds=[REWARD_RANGE] * len(nothing), verdict=["missing"] * len(nothing), judge=list(nothing),
        judge_fault=["unjudged"] * len(nothing), form=list(nothing), length=facts["response_length"].to_pylist(),
        cut_off=[None if state in ("failed", "error", "aborted") else state == "truncated" for state in status],
    )  # fmt: skip
    for place, ident in enumerate(facts["trajectory_id"].to_pylist()):
        said = judged.get(ident)
        if said is not None:
            raw.judge[place], raw.judge_fault[place] = said.value, said.fault
    for place, held in _by_place(rows):
        _take(raw, place, held, outcome[place], GENRM if settings.genrm == "pointwise" else GENRM_PAIRWISE)
    return raw


def _by_place(rows: pa.Table) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Reward rows of each trajectory that has any."""
    names = ("place", "reward_name", "kind", "value", "weight", "is_outcome", "verdict", "low", "high", "fault")
    held: list[dict[str, Any]] = []
    for values in zip(*(rows[name].to_pylist() for name in names), strict=True):
        row = dict(zip(names, values, strict=True))
        if held and held[0]["place"] != row["place"]:
            yield held[0]["place"], held
            held = []
        held.append(row)
    if held:
        yield held[0]["place"], held


def _take(raw: RawRewards, place: int, rows: Sequence[dict[str, Any]], value: float | None, genrm: str) -> None:
    """Enter the rows of one trajectory. A fault makes what the row would have said unknown, under the fault's own name.

    ``value`` is the trajectory's outcome, which was selected when it was graded; a value that no row stands behind is "missing".
    """
    outcome = [row for row in rows if row["is_outcome"]]
    if outcome:
        low, high = raw.bounds[place] = _range(outcome)
        fault = next((row["fault"] for row in outcome if row["fault"]), None)
        if fault is None and value is not None and not low <= value <= high:
            fault = "out_of_range" if math.isfinite(value) else "not_finite"
        raw.verifier[place] = value if fault is None else None
        raw.verdict[place] = fault or next((row["verdict"] for row in outcome if row["value"] is None), outcome[-1]["verdict"])
    form = [row for row in rows if row["reward_name"] == "format" and row["kind"] != "shaping"]
    if form:
        raw.form[place] = (None if form[-1]["fault"] else form[-1]["value"], *REWARD_RANGE)
    scores = [row for row in rows if row["reward_name"] == genrm and row["kind"] == "model"]
    if scores:  # a judgement that was stored as a reward comes before those in bronze
        last = scores[-1]
        raw.judge[place] = None if last["fault"] else last["value"]
        raw.judge_fault[place] = last["fault"] or (last["verdict"] if last["value"] is None else None)


def _range(outcome: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Range of the sum of weight x value. A function counts once, however many verifiers ran it."""
    held = {row["reward_name"]: row for row in outcome}.values()
    ends = [
        sorted(
            row["weight"] * (default if row[end] is None else row[end]) for end, default in zip(("low", "high"), REWARD_RANGE, strict=True)
        )
        for row in held
    ]
    low, high = math.fsum(end[0] for end in ends), math.fsum(end[1] for end in ends)
    return (low, high) if low < high else REWARD_RANGE


def _judged(reader: LakeReader, round_no: int, settings: Settings) -> dict[str, Judged]:
    """Judgements of the kind that counts; a judgement delivered by several runs counts once, a successful delivery before a failed one."""
    said = read_slice(reader, JUDGEMENTS, round_no, _SAID)
    if not said.num_rows:
        return {}
    failed = pc.cast(pc.is_valid(said["failure_class"]), pa.int8())
    said = said.append_column("failed", failed).sort_by([("judgement_id", "ascending"), ("failed", "ascending"), ("run_id", "ascending")])
    seen: dict[str, Judgement] = {}
    for row in said.to_pylist():
        verdict = "invalid" if row["failure_class"] is not None else row["verdict"]
        judge = f"{row['judge']} {row['template']}"
        seen.setdefault(
            row["judgement_id"],
            Judgement(row["kind"], row["trajectory_a"], row["trajectory_b"], row["swapped"], verdict, row["score"], judge, row["draw"]),
        )
    return pointwise(seen.values()) if settings.genrm == "pointwise" else pairwise(seen.values())
