"""The view over a round's rewards as a file: one row a trajectory, in order of group and sample; the same bytes for the same rows."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.views.rewards import RoundRewards
from schemas.errors import VerilakeError
from schemas.table import column
from udfs.rewards.advantages import ESTIMATORS
from udfs.rewards.functions import FORMAT_SHAPING
from udfs.trajectories.rewards import Reward

#: One reward row of a trajectory, shaping rows among them; never the gold answer.
COMPONENT = pa.struct(
    [
        pa.field("reward_name", pa.string()), pa.field("kind", pa.string()), pa.field("value", pa.float64()), pa.field("weight", pa.float64()),
        pa.field("is_outcome", pa.bool_()), pa.field("low", pa.float64()), pa.field("high", pa.float64()), pa.field("verdict", pa.string()),
        pa.field("verifier", pa.string()), pa.field("fault", pa.string()),
    ]
)  # fmt: skip
SCHEMA = pa.schema(
    [
        column("view", pa.string(), "name@version of the view"),
        column("settings", pa.string(), "hash of the settings that made it"),
        column("round", pa.int32(), "round"),
        column("trajectory_id", pa.string(), "silver.trajectories"),
        column("task_id", pa.string(), "gold.tasks"),
        column("prompt_id", pa.string(), "gold.prompts"),
        column("group_id", pa.string(), "all samples of one prompt in one sampling event"),
        column("sample_index", pa.int32(), "ordinal within the group"),
        column("role", pa.string(), "train, probe, eval, canary"),
        column("task_type", pa.string(), "kind of task"),
        column("domain", pa.string(), "what its scores are aligned over"),
        column("policy_id", pa.string(), "checkpoint that sampled"),
        column("rewards", pa.list_(pa.field("element", COMPONENT)), "raw rows of silver.rewards and the view's own shaping rows"),
        column("raw_verifier", pa.float64(), "outcome as graded; null = unknown", null=True),
        column("raw_genrm", pa.float64(), "reward by a model judge; null = unknown", null=True),
        column("verdict", pa.string(), "of the outcome, or the fault of its row"),
        column("alpha", pa.float64(), "weight of the verifier in force"),
        column("aligned_verifier", pa.float64(), "on the common scale", null=True),
        column("aligned_genrm", pa.float64(), "likewise", null=True),
        column("clipped", pa.bool_(), "one of both was cut"),
        column("score_raw", pa.float64(), "composed of both, before shaping; null where one that has weight is unknown", null=True),
        column("unknown", pa.string(), "why score_raw is null", null=True),
        column("overlong", pa.float64(), "shaping term; null where unknown or not in force", null=True),
        column("format_shaping", pa.float64(), "shaping term; null where unknown, not in force or no form was asked for", null=True),
        column("score_shaped", pa.float64(), "score_raw with every shaping term", null=True),
        *(column(f"advantage_{name}", pa.float64(), "of score_shaped within its group", null=True) for name in ESTIMATORS),
        column(
            "zero_variance", pa.bool_(), "the raw reward that decides the group is the same for all; null where none is known", null=True
        ),
        column("keep", pa.bool_(), "dynamic sampling keeps the group"),
        column("weight", pa.float64(), "of the group under dynamic sampling"),
        column("sampling", pa.string(), "kept, zero_variance, outside_band, too_few_known"),
        column("scorer", pa.string(), "checkpoint that re-scored; null where nothing was", null=True),
        column("version_gap", pa.int64(), "its weights minus the oldest that sampled a token", null=True),
        column("rho_tokens", pa.int64(), "sampled tokens", null=True),
        column("rho_unknown", pa.int64(), "of these without one of the log-probabilities", null=True),
        column("rho_below", pa.int64(), "of these below the lower bound", null=True),
        column("rho_above", pa.int64(), "of these above the upper bound", null=True),
        column("rho_sequence", pa.float64(), "product of the tokens' ratios; null unless all are known", null=True),
        column("rho_geometric", pa.float64(), "its geometric mean by token", null=True),
        column("rho", pa.float64(), "weight after truncation or masking, at the level of the settings", null=True),
    ]
)


class OutFileError(VerilakeError):
    """The file that was asked for cannot be written."""

    exit_code = 2

    @classmethod
    def from_error(cls, path: Path, error: OSError) -> OutFileError:
        """What the system says."""
        return cls(f"--out {path}: {error.strerror or error}. Name a file in a folder that can be written.")


def reward_table(found: RoundRewards, role: str | None = None) -> pa.Table:
    """One row a trajectory, columns of :data:`SCHEMA`."""
    facts, raw, made = found.rows.facts, found.rows.raw, found.composed
    n = facts.num_rows
    overlong = next((rows for name, rows in made.shaping.items() if name != FORMAT_SHAPING), None)
    columns: dict[str, Any] = {
        "view": [found.view] * n, "settings": [found.settings_id] * n, "round": [found.round] * n,
        **{name: facts[name] for name in ("trajectory_id", "task_id", "prompt_id", "group_id", "sample_index", "role", "task_type", "policy_id")},
        "domain": made.domain, "rewards": _components(found), "raw_verifier": raw.verifier, "raw_genrm": raw.judge, "verdict": raw.verdict,
        "alpha": made.alpha, "aligned_verifier": made.verifier.values, "aligned_genrm": made.judge.values,
        "clipped": [one or two for one, two in zip(made.verifier.clipped, made.judge.clipped, strict=True)],
        "score_raw": made.score_raw, "unknown": made.unknown, "overlong": _values(overlong, n),
        "format_shaping": _values(made.shaping.get(FORMAT_SHAPING), n), "score_shaped": made.score_shaped,
        **{f"advantage_{name}": made.advantages[name] for name in ESTIMATORS},
        "zero_variance": made.zero_variance, "keep": [choice.keep for choice in made.choice], "weight": [choice.weight for choice in made.choice],
        "sampling": [choice.why for choice in made.choice], **_ratios(found, n),
    }  # fmt: skip
    arrays = [
        values.cast(field.type) if isinstance(values, pa.ChunkedArray) else pa.array(values, field.type)
        for field, values in ((field, columns[field.name]) for field in SCHEMA)
    ]
    table = pa.Table.from_arrays(arrays, schema=SCHEMA)
    return table if role is None else table.filter(pc.equal(table["role"], role))


def write_rewards(table: pa.Table, path: Path) -> None:
    """Write the file; a reader sees the old one or the whole new one, and a failure leaves the old one alone.

    Raises:
        OutFileError: the file cannot be written there.
        OSError: the disk is full.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # a second process that writes the same file has a part of its own
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            pq.write_table(table, part, compression="zstd")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise OutFileError.from_error(path, error) from None


def _values(rows: Sequence[Reward | None] | None, n: int) -> list[float | None]:
    return [None] * n if rows is None else [None if row is None else row.value for row in rows]


def _components(found: RoundRewards) -> pa.Array:
    """Raw and shaping rows of each trajectory as a list, over flat columns: no object a row."""
    held = found.rows.rows
    verifier = pc.binary_join_element_wise(held["verifier_name"], held["verifier_version"], "@")
    flat = held.append_column("verifier", verifier).select(["place", *COMPONENT.names])
    tables = [flat.cast(pa.schema([pa.field("place", pa.int32()), *COMPONENT]))]
    for rows in found.composed.shaping.values():
        there = [(place, row) for place, row in enumerate(rows) if row is not None]
        tables.append(
            pa.Table.from_pydict(
                {
                    "place": [place for place, _ in there],
                    **{name: [_shown(row, name) for _, row in there] for name in COMPONENT.names},
                },
                schema=tables[0].schema,
            )
        )
    merged = pa.concat_tables(tables).combine_chunks()
    merged = merged.take(pc.sort_indices(merged, [("place", "ascending"), ("reward_name", "ascending"), ("verifier", "ascending")]))
    counts = np.bincount(merged["place"].to_numpy(), minlength=found.rows.facts.num_rows)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    structs = pa.StructArray.from_arrays([merged[name].combine_chunks() for name in COMPONENT.names], fields=list(COMPONENT))
    return pa.ListArray.from_arrays(pa.array(offsets), structs, type=SCHEMA.field("rewards").type)


def _shown(row: Reward, name: str) -> Any:
    if name == "verifier":
        return f"{row.verifier_name}@{row.verifier_version}"
    if name == "fault":
        return None
    value = getattr(row, name)
    # A range that is open below is null: minus infinity is no value that JSON or every reader knows.
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _ratios(found: RoundRewards, n: int) -> dict[str, pa.Array]:
    """Columns of the ratios, null where nothing of the trajectory was re-scored."""
    ratios = found.ratios
    if ratios is None:
        names = ("scorer", "version_gap", "rho_tokens", "rho_unknown", "rho_below", "rho_above", "rho_sequence", "rho_geometric", "rho")
        return {name: pa.nulls(n, SCHEMA.field(name).type) for name in names}
    held = ratios.columns

    def spread(values: npt.NDArray[Any], *, unknown: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        whole, null = np.zeros(n, dtype=values.dtype), np.ones(n, dtype=bool)
        whole[ratios.place] = values
        null[ratios.place] = np.isnan(values) if unknown is None else unknown
        return pa.array(whole, mask=null)

    everything = np.zeros(len(ratios.place), dtype=bool)
    return {
        "scorer": pc.if_else(spread(everything, unknown=everything).is_valid(), ratios.policy_id, pa.scalar(None, pa.string())),
        "version_gap": spread(ratios.policy_version - held.oldest, unknown=held.oldest < 0),
        "rho_tokens": spread(held.tokens, unknown=everything),
        "rho_unknown": spread(held.tokens - held.known, unknown=everything),
        "rho_below": spread(held.below, unknown=everything),
        "rho_above": spread(held.above, unknown=everything),
        "rho_sequence": spread(held.sequence), "rho_geometric": spread(held.geometric), "rho": spread(held.weight),
    }  # fmt: skip
