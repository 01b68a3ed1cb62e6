"""bronze.rescored: sampled tokens under another checkpoint, for staleness ratios (R§6)."""

import pyarrow as pa

from schemas.table import FLOATS, TIMESTAMP, Table, column

RESCORED = Table(
    name="bronze.rescored",
    comment="Log-probabilities of sampled tokens under another checkpoint than the one that sampled them.",
    schema=pa.schema(
        [
            column("run_id", pa.string(), "hand-off run that delivered it"),
            column("round", pa.int32(), "round of the trajectory"),
            column("item_id", pa.string(), "content_id(trajectory_id, turn_index, policy_id)"),
            column("trajectory_id", pa.string(), "silver.trajectories"),
            column("turn_index", pa.int32(), "silver.tokens"),
            column("policy_id", pa.string(), "checkpoint that scored"),
            column("policy_version", pa.int32(), "ordinal of its weights"),
            column("log_probs", FLOATS, "natural log, one per token of the turn; null where it failed", null=True),
            column("temperature", pa.float64(), "the distribution is the one sampled from: at this temperature"),
            column("logprobs_mode", pa.string(), "processed or raw"),
            column("engine", pa.string(), "reader, vllm ..."),
            column("engine_version", pa.string(), "its version"),
            column("dtype", pa.string(), "of the weights"),
            column("failure_class", pa.string(), "null where it succeeded; else G§3's classes", null=True),
            column("worker_id", pa.string(), "who made it"),
            column("attempt", pa.int32(), "attempt of the shard that delivered it"),
            column("finished_at", TIMESTAMP, "when"),
            column("raw", pa.string(), "fields of the delivery that have no column, canonical JSON"),
        ]
    ),
    key=("run_id", "item_id"),
    partition="run_id",  # several runs ask about one round: another judge, another kind, another checkpoint
    volatile=("worker_id", "attempt", "finished_at"),
)
