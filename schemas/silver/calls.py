"""silver.calls: system facts of every engine call (R§7.5)."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

CALLS = Table(
    name="silver.calls",
    comment="One row per engine call: which engine, which sampling, what it used.",
    schema=pa.schema(
        [
            column("call_id", pa.string(), "content_id(trajectory_id, turn_index)"),
            column("trajectory_id", pa.string(), "silver.trajectories"),
            column("turn_index", pa.int32(), "turn it generated"),
            column("round", pa.int32(), "round"),
            column("run_id", pa.string(), "run"),
            column("engine", pa.string(), "reader, vllm ..."),
            column("engine_version", pa.string(), "its version"),
            column("policy_id", pa.string(), "checkpoint"),
            column("weight_version", pa.int32(), "ordinal of the weights"),
            column("logprobs_mode", pa.string(), "processed or raw"),
            column("temperature", pa.float64(), "sampling"),
            column("top_p", pa.float64(), "sampling"),
            column("seed", pa.int64(), "sampling"),
            column("prompt_tokens", pa.int64(), "usage", null=True),
            column("completion_tokens", pa.int64(), "usage", null=True),
            column("price", pa.float64(), "money; 0.0 for engines that cost none"),
            column("error", pa.string(), "failure class, null where none", null=True),
            column("worker_id", pa.string(), "who made the call"),
            column("latency_ms", pa.float64(), "wall time of the call", null=True),
            column("finished_at", TIMESTAMP, "when", null=True),
            column("dtype", pa.string(), "of the weights as they sampled", null=True),
            column("sampling", pa.string(), "every sampling setting, canonical JSON", null=True),
            column("finish_reason", pa.string(), "stop, length, tool_calls, abort, error", null=True),
            column("cached_tokens", pa.int64(), "prompt tokens read from the prefix cache", null=True),
        ]
    ),
    key=("call_id",),
    partition="round",
    volatile=("worker_id", "latency_ms", "finished_at"),
)
