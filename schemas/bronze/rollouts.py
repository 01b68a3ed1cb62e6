"""bronze.rollouts: generations as delivered."""

import pyarrow as pa

from schemas.table import FLOATS, INTS, TIMESTAMP, Table, column

ROLLOUTS = Table(
    name="bronze.rollouts",
    comment="Generations as delivered by workers or by a framework's dump; silver takes them apart.",
    schema=pa.schema(
        [
            column("run_id", pa.string(), "hand-off run or framework run"),
            column("round", pa.int32(), "round the prompts were planned for"),
            column("prompt_id", pa.string(), "gold.prompts"),
            column("sample_index", pa.int32(), "ordinal of the sample within its prompt"),
            column("dialect", pa.string(), "verilake, verl, trl ..."),
            column("engine", pa.string(), "reader, vllm ..."),
            column("engine_version", pa.string(), "its version"),
            column("policy_id", pa.string(), "checkpoint that sampled"),
            column("policy_version", pa.int32(), "ordinal of the checkpoint's weights"),
            column("seed", pa.int64(), "seed_from(run seed, prompt_id, sample_index, policy_id)"),
            column("temperature", pa.float64(), "sampling temperature"),
            column("top_p", pa.float64(), "nucleus; 1.0 = off"),
            column("logprobs_mode", pa.string(), "processed (after temperature) or raw"),
            column("prompt_text", pa.string(), "rendered prompt as the engine saw it"),
            column("response_text", pa.string(), "generation; null where it failed", null=True),
            column("prompt_token_ids", INTS, "as the engine saw them", null=True),
            column("response_token_ids", INTS, "as sampled, end token included", null=True),
            column("response_logprobs", FLOATS, "one per response token", null=True),
            column("finish_reason", pa.string(), "stop, length, abort, error"),
            column("failure_class", pa.string(), "null where it succeeded; else G§3's classes", null=True),
            column("worker_id", pa.string(), "who made it"),
            column("attempt", pa.int32(), "attempt of the shard that delivered it"),
            column("started_at", TIMESTAMP, "when sampling began"),
            column("finished_at", TIMESTAMP, "when it ended"),
            column("raw", pa.string(), "fields of the delivery that have no column, canonical JSON"),
        ]
    ),
    key=("run_id", "prompt_id", "sample_index"),
    partition="round",
    volatile=("worker_id", "attempt", "started_at", "finished_at"),
)
