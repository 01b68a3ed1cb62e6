"""Parts: writing them, and proving them. A worker proves a part before it adopts it, the ingester before it takes a commit."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.handoff import CHAINED, FAILURE_CLASSES, ITEM_KEYS, PART_SCHEMAS, SAMPLED, Commit, PartFile, RunPlan
from udfs.store.run import HandoffRun, same_columns
from udfs.store.store import Store


def expected_rows(plan: RunPlan, items: pa.Table) -> dict[str, int]:
    """Rows that each item of a shard must come back with: one a request, ``n_samples`` a prompt; a chain's items, at least one."""
    keys: list[Any] = items.column(ITEM_KEYS[plan.program]).to_pylist()
    counts: list[Any] = items.column("n_samples").to_pylist() if plan.program in SAMPLED else [1] * len(keys)
    return dict(zip(keys, counts, strict=True))


def write_part(store: Store, program: str, folder: str, ordinal: int, rows: Sequence[Mapping[str, Any]]) -> PartFile:
    """Write rows as one part; durable, and under its final name, when this returns.

    The name carries the digest, so that a later attempt can prove the bytes although this one never commits.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=PART_SCHEMAS[program]), sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(data).hexdigest()
    name = f"{folder}/part-{ordinal:05d}-{digest}.parquet"
    store.put(name, data)
    return PartFile(path=name, rows=len(rows), bytes=len(data), sha256=digest)


def named_part(store: Store, name: str) -> PartFile | None:
    """What the name of an uncommitted part claims; None where it is no part, or its footer cannot be read."""
    stem = PurePosixPath(name).name
    data = store.read(name) if stem.startswith("part-") and stem.endswith(".parquet") else None
    if data is None:
        return None
    try:
        rows = pq.read_metadata(pa.BufferReader(data)).num_rows
    except (OSError, pa.ArrowInvalid):
        return None
    return PartFile(path=name, rows=rows, bytes=len(data), sha256=stem.removesuffix(".parquet").rpartition("-")[2])


def read_part(store: Store, plan: RunPlan, part: PartFile) -> pa.Table | str:
    """The rows of a part, or the reason why its file is not what its record says."""
    data = store.read(part.path)
    if data is None:
        return f"{part.path}: missing"
    if len(data) != part.bytes:
        return f"{part.path}: {len(data)} bytes, {part.bytes} recorded"
    if hashlib.sha256(data).hexdigest() != part.sha256:
        return f"{part.path}: sha256 differs from the recorded one"
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (OSError, pa.ArrowInvalid) as error:
        return f"{part.path}: not readable as Parquet: {error}"
    expected = PART_SCHEMAS[plan.program]
    if not same_columns(table.schema, expected):
        return f"{part.path}: columns {table.schema.names}, expected {expected.names}"
    if table.num_rows != part.rows:
        return f"{part.path}: {table.num_rows} rows, {part.rows} recorded"
    try:
        return table.cast(expected)
    except (pa.ArrowInvalid, ValueError) as error:
        return f"{part.path}: {error}"


def judge_rows(plan: RunPlan, expected: Mapping[str, int], table: pa.Table) -> str | None:
    """Why rows cannot be taken; None where every item they hold is whole and every value is sound."""
    if any(run != plan.run_id for run in pc.unique(table.column("run_id")).to_pylist()):
        return "rows of another run"
    key = ITEM_KEYS[plan.program]
    keys: list[Any] = table.column(key).to_pylist()
    counts = Counter(keys)
    for item, count in counts.items():
        if item not in expected:
            return f"{key} {item} is not in this shard"
        if count != expected[item] and plan.program not in CHAINED:
            return f"{key} {item}: {count} rows, {expected[item]} expected"
    unknown = set(failures_of(table)) - set(FAILURE_CLASSES)
    if unknown:
        return f"unknown failure class {sorted(unknown)}"
    if plan.program in SAMPLED:
        return _judge_rollouts(plan, expected, table)
    return _judge_replies(table, _DELIVERED[plan.program])


def failures_of(table: pa.Table) -> dict[str, int]:
    """Rows by failure class."""
    values: list[Any] = table.column("failure_class").drop_null().to_pylist()
    counts = Counter(values)
    return dict(sorted(counts.items()))


def judge_commit(run: HandoffRun, commit: Commit) -> str | None:
    """Why a commit cannot be taken; None where it is sound (G§3.5).

    Every file is what the commit says, every item of the shard is there with all its rows and no other, values are sound, and
    the failures that the commit declares are the ones its rows hold.
    """
    plan = run.plan
    tables: list[pa.Table] = []
    for part in commit.files:
        # Read below the run's root with the rights of the job: nothing else may be named.
        if not part.path.startswith(f"out/{commit.shard}/") or ".." in PurePosixPath(part.path).parts:
            return f"{part.path}: not a part of this shard"
        table = read_part(run.store, plan, part)
        if isinstance(table, str):
            return table
        tables.append(table)
    whole = pa.concat_tables(tables) if tables else PART_SCHEMAS[plan.program].empty_table()
    expected = expected_rows(plan, run.shard_items(commit.shard))
    wanted = commit.rows if plan.program in CHAINED else sum(expected.values())
    if whole.num_rows != commit.rows or whole.num_rows != wanted:
        return f"{whole.num_rows} rows in files, {commit.rows} committed, {wanted} expected"
    if plan.program in CHAINED and (missing := expected.keys() - set(whole.column(ITEM_KEYS[plan.program]).to_pylist())):
        return f"{len(missing)} items without a row, {min(missing)} among them"
    reason = judge_rows(plan, expected, whole)
    if reason is None and failures_of(whole) != commit.failures:
        return f"failures {failures_of(whole)} in rows, {commit.failures} declared"
    return reason


#: Engines that need not tell tokens or log-probabilities: what is missing is null, and lossy.
MAY_LACK_TOKENS = ("openai",)
#: Column that must be there exactly where nothing failed.
_DELIVERED = {"convert": "reply", "judge": "reply", "logprobs": "log_probs"}


def _judge_replies(table: pa.Table, delivered: str) -> str | None:
    failed = pc.is_valid(table.column("failure_class"))
    if pc.any(pc.equal(failed, pc.is_valid(table.column(delivered)))).as_py():
        return f"{delivered} must be there exactly where nothing failed"
    return None


def _judge_rollouts(plan: RunPlan, expected: Mapping[str, int], table: pa.Table) -> str | None:
    samples: dict[Any, set[Any]] = {}
    for item, index in zip(table.column("prompt_id").to_pylist(), table.column("sample_index").to_pylist(), strict=True):
        samples.setdefault(item, set()).add(index)
    for item, seen in samples.items():
        if seen != set(range(expected[item])):
            return f"prompt_id {item}: sample indices {sorted(seen)}"
    follows = plan.settings.get("follow_policy", False)  # its workers take newer weights of the run as they come
    if not follows and any(policy != plan.policy_id for policy in pc.unique(table.column("policy_id")).to_pylist()):
        return f"sampled by another policy than {plan.policy_id}"
    sound = table.filter(pc.is_null(table.column("failure_class")))
    if sound.column("response_text").null_count:
        return "a sample without failure lacks text, tokens or log-probabilities"
    if plan.engine in MAY_LACK_TOKENS:
        whole = pc.and_(pc.is_valid(sound.column("response_token_ids")), pc.is_valid(sound.column("response_logprobs")))
        sound = sound.filter(whole)
    return _judge_tensors(sound, plan.settings.get("vocab"))


def _judge_tensors(sound: pa.Table, vocab: int | None) -> str | None:
    if sound.column("response_token_ids").null_count or sound.column("response_logprobs").null_count:
        return "a sample without failure lacks text, tokens or log-probabilities"
    ids, values = (sound.column(name).combine_chunks() for name in ("response_token_ids", "response_logprobs"))
    if not pc.list_value_length(ids).equals(pc.list_value_length(values)):
        return "token ids and log-probabilities differ in length"
    flat, logs = (np.asarray(pc.list_flatten(array).to_numpy(zero_copy_only=False), dtype=np.float64) for array in (ids, values))
    if not np.isfinite(logs).all():
        return "a log-probability is null, NaN or infinite"
    if (logs > 0.0).any():
        return "a log-probability exceeds 0"
    if flat.size and (not np.isfinite(flat).all() or flat.min() < 0 or (vocab is not None and flat.max() >= vocab)):
        return f"a token id lies outside [0, {vocab})"
    return None
