"""The files in which jobs and GPU workers meet (G§3): the only thing the two sides share.

Layout below ``handoff/<program>/run=<run_id>/``::

    plan/plan.json                     RunPlan, immutable; written last, so that its presence says "planned"
    plan/policy/...                    what the engine needs beside the items (reader: weights.json, passages.parquet; vllm: a checkpoint)
    policy/<version>/..., READY        newer weights of a run whose settings say follow_policy; READY ({"policy_id"}) is written last
    shards/<sid>.parquet               items, SHARD_SCHEMAS[program]
    claims/<sid>/<attempt>.json        create-if-absent = the lease
    beats/<sid>/<attempt>              Beat, overwritten while progress is made; its mtime is the sign of life
    out/<sid>/<attempt>/part-<k>-<sha256>.parquet  PART_SCHEMAS[program]; the name proves the bytes to a later attempt
    superseded/<sid>/<attempt>/...     parts of an attempt that came second
    commit/<sid>.json                  Commit, create-if-absent: the first one wins
    dead/<sid>.json                    DeadLetter: attempts exhausted
    quarantine/<sid>.<attempt>.json    Quarantined: a commit that the ingester refused, with its reason
    ingest/<batch>.json                write-ahead file of the ingester: ordered list of commit names
    replies/<sid>/<attempt>.jsonl      convert: every reply, synced before it is used; a later attempt asks for none of them again
    control/{pause,stop}               presence is the signal
    control/min_policy_version         ordinal: groups of an older policy are not begun any more
"""

from __future__ import annotations

from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from schemas.bronze.judgements import JUDGEMENTS
from schemas.bronze.replies import REPLIES
from schemas.bronze.rescored import RESCORED
from schemas.bronze.rollouts import ROLLOUTS
from schemas.table import INTS

Program = Literal["convert", "rollout", "agent", "judge", "logprobs"]

#: G§3: declared failures of an item; they drive retry and never become a reward of 0.
FAILURE_CLASSES = (
    "prompt_invalid",
    "truncated",
    "aborted",
    "engine_error",
    "engine_dead",
    "engine_hang",
    "oom",
    "malformed",
    "poison",
    "env_error",
    "budget",
)

#: A reply (or a failure) of an earlier run, as a shard carries it: the columns of bronze.replies but those of the item and the run.
EARLIER = pa.struct([pa.field(f.name, f.type, f.nullable) for f in REPLIES.schema if f.name not in ("ingest_id", "doc_id", "run_id")])

CONVERT_SHARD = pa.schema(
    [
        pa.field("ingest_id", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("uri", pa.string(), nullable=False),
        pa.field("title", pa.string()),
        pa.field("text", pa.string(), nullable=False),
        pa.field("metadata", pa.string(), nullable=False),
        pa.field("audit", pa.string()),  # an item of the checker's audit instead of a document: udfs.conversion.audit.AuditItem as JSON
        pa.field("earlier", pa.list_(pa.field("element", EARLIER, nullable=False)), nullable=False),  # paid for already: never asked again
    ]
)

ROLLOUT_SHARD = pa.schema(
    [
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("round", pa.int32(), nullable=False),
        pa.field("system", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("question", pa.string(), nullable=False),
        pa.field("subject", pa.string(), nullable=False),
        pa.field("context", pa.string()),
        pa.field("options", pa.string(), nullable=False),
        pa.field("form", pa.string(), nullable=False),
        pa.field("n_samples", pa.int32(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
    ]
)

AGENT_SHARD = pa.schema(
    [
        *ROLLOUT_SHARD,
        pa.field("environment", pa.string(), nullable=False),  # name in gpu_workers.environments
        pa.field("setting", pa.string(), nullable=False),  # canonical JSON: files, public tests, limits. Hidden tests are never here
        pa.field("max_turns", pa.int32(), nullable=False),
    ]
)

JUDGE_SHARD = pa.schema(
    [
        pa.field("judgement_id", pa.string(), nullable=False),
        pa.field("round", pa.int32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("trajectory_a", pa.string(), nullable=False),
        pa.field("trajectory_b", pa.string()),
        pa.field("swapped", pa.bool_(), nullable=False),
        pa.field("question", pa.string(), nullable=False),
        pa.field("reference", pa.string()),  # the gold answer, where the judge may see it
        pa.field("response_a", pa.string(), nullable=False),
        pa.field("response_b", pa.string()),
        pa.field("draw", pa.int32(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
    ]
)

LOGPROBS_SHARD = pa.schema(
    [
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("round", pa.int32(), nullable=False),
        pa.field("trajectory_id", pa.string(), nullable=False),
        pa.field("turn_index", pa.int32(), nullable=False),
        pa.field("prompt_token_ids", INTS, nullable=False),  # everything before the turn
        pa.field("token_ids", INTS, nullable=False),
        pa.field("temperature", pa.float64(), nullable=False),
    ]
)

SHARD_SCHEMAS: dict[str, pa.Schema] = {
    "convert": CONVERT_SHARD,
    "rollout": ROLLOUT_SHARD,
    "agent": AGENT_SHARD,
    "judge": JUDGE_SHARD,
    "logprobs": LOGPROBS_SHARD,
}
#: A part holds rows of the bronze table that it will become; nothing is reshaped on the way.
PART_SCHEMAS: dict[str, pa.Schema] = {
    "convert": REPLIES.schema,
    "rollout": ROLLOUTS.schema,
    "agent": ROLLOUTS.schema,
    "judge": JUDGEMENTS.schema,
    "logprobs": RESCORED.schema,
}
#: Column by which a row belongs to an item of its shard.
ITEM_KEYS: dict[str, str] = {
    "convert": "doc_id",
    "rollout": "prompt_id",
    "agent": "prompt_id",
    "judge": "judgement_id",
    "logprobs": "item_id",
}


#: Programs whose items come back with ``n_samples`` rows each.
SAMPLED = ("rollout", "agent")
#: Programs whose items come back with one row or more: as many as a chain of calls took.
CHAINED = ("convert",)


class FileModel(BaseModel):
    """A JSON file of the hand-off."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RunPlan(FileModel):
    """plan/plan.json: everything a worker must know; it reads no configuration and no Delta table."""

    format: Literal[1] = 1
    run_id: str
    program: Program
    engine: str
    shards: tuple[str, ...]
    rows: dict[str, int]
    settings: dict[str, Any]
    lease_seconds: float
    max_attempts: int
    round: int | None = None
    policy_id: str | None = None
    policy_version: int = 0
    fingerprint: str
    max_uncommitted_bytes: int = 0  # parts of shards without a commit; beyond it no fresh shard is begun. 0: no bound


class Claim(FileModel):
    """claims/<sid>/<attempt>.json."""

    shard: str
    attempt: int
    worker_id: str
    host: str
    pid: int


class PartFile(FileModel):
    """One finished file of an attempt."""

    path: str
    rows: int
    bytes: int
    sha256: str


class Commit(FileModel):
    """commit/<sid>.json."""

    shard: str
    attempt: int
    worker_id: str
    files: tuple[PartFile, ...]
    rows: int
    failures: dict[str, int]


class Beat(FileModel):
    """beats/<sid>/<attempt>.

    ``in_flight`` names items handed to the engine and not yet answered: one that was alone in flight in several attempts that
    died (two by default) is poison. ``released`` and ``failed`` end the lease at once; a released attempt does not count against ``max_attempts``.
    """

    state: Literal["working", "released", "failed"]
    done: int
    in_flight: tuple[str, ...] = ()
    reason: str | None = None
    failure_class: str | None = None


class DeadLetter(FileModel):
    """dead/<sid>.json."""

    shard: str
    attempts: int
    failure_class: str
    reason: str
    in_flight: tuple[str, ...] = ()


class Quarantined(FileModel):
    """quarantine/<sid>.<attempt>.json."""

    commit: Commit
    reason: str


class IngestBatch(FileModel):
    """ingest/<batch>.json: decided before the Delta transaction, replayed after a crash."""

    batch: int
    commits: tuple[str, ...]
    fingerprint: str
