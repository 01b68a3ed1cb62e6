"""bronze.rollouts: generations as delivered."""

import pyarrow as pa

from schemas.table import DOUBLES, FLOATS, INTS, TIMESTAMP, Table, column

#: One turn after the prompt: what the policy said (``assistant``, with tokens) or what a tool answered (``tool``).
TURNS = pa.list_(
    pa.field(
        "element",
        pa.struct(
            [
                pa.field("role", pa.string()),
                pa.field("content", pa.string()),
                pa.field("tool_calls", pa.string()),  # canonical JSON list of {id, name, arguments}; null where none
                pa.field("tool_name", pa.string()),
                pa.field("tool_status", pa.string()),  # schemas.environment.TOOL_STATUS; null for the policy's own turns
                pa.field("token_ids", INTS),  # of a tool's turn: as the engine saw them
                pa.field("logprobs", FLOATS),  # null for tokens that were not sampled
                pa.field("weight_versions", INTS),
                pa.field("finish_reason", pa.string()),
                pa.field("prompt_tokens", pa.int64()),
                pa.field("completion_tokens", pa.int64()),
            ]
        ),
    )
)

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
            column("program", pa.string(), "rollout, agent; null for a delivery of before", null=True),
            column("dtype", pa.string(), "of the weights as they sampled: float64, bfloat16 ...", null=True),
            column(
                "sampling",
                pa.string(),
                "every sampling setting, canonical JSON (top_k, min_p, stop, max_tokens, structured outputs ...)",
                null=True,
            ),
            column("chat_template_sha256", pa.string(), "of the template that rendered the prompt", null=True),
            column(
                "weight_versions", INTS, "ordinal of the weights that sampled each response token; null: all of policy_version", null=True
            ),
            column("prompt_tokens", pa.int64(), "usage, all turns", null=True),
            column("cached_tokens", pa.int64(), "of these read from the prefix cache", null=True),
            column("completion_tokens", pa.int64(), "usage, all turns", null=True),
            column("turns", TURNS, "what followed the prompt, in order; null where that is the one response", null=True),
            column("turn_seconds", DOUBLES, "how long each of turns took, on the clock", null=True),
            column("environment", pa.string(), "fingerprint of where an agent acted, canonical JSON (schemas.environment)", null=True),
            column("env_retries", pa.int32(), "how often the episode was begun again because the environment failed", null=True),
        ]
    ),
    key=("run_id", "prompt_id", "sample_index"),
    partition="round",
    volatile=("worker_id", "attempt", "started_at", "finished_at", "turn_seconds"),
)
