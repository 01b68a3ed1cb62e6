"""silver.trajectories: one row per sampled attempt (R§7.2)."""

import pyarrow as pa

from schemas.table import STRINGS, TIMESTAMP, Table, column

TRAJECTORIES = Table(
    name="silver.trajectories",
    comment="One row per sampled attempt at a prompt: small facts only; text and tensors lie apart.",
    schema=pa.schema(
        [
            column("trajectory_id", pa.string(), "content_id(run_id, prompt_id, sample_index)"),
            column("round", pa.int32(), "round"),
            column("run_id", pa.string(), "hand-off run or framework run"),
            column("group_id", pa.string(), "content_id(run_id, prompt_id): all samples of one prompt in one sampling event"),
            column("prompt_id", pa.string(), "gold.prompts"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_version", pa.int32(), "version of the task that was graded against"),
            column("role", pa.string(), "train, probe, eval, canary"),
            column("task_type", pa.string(), "kind of task, denormalised"),
            column("context_mode", pa.string(), "closed_book, open_book, choice"),
            column("template", pa.string(), "prompt form, name@version"),
            column("sample_index", pa.int32(), "ordinal within the group"),
            column("framework", pa.string(), "dialect it came in"),
            column("policy_id", pa.string(), "checkpoint"),
            column("policy_version_min", pa.int32(), "oldest weights that sampled a token"),
            column("policy_version_max", pa.int32(), "newest weights that sampled a token"),
            column("status", pa.string(), "completed, truncated, aborted, failed, timeout, error"),
            column("stop_reason", pa.string(), "finish reason of the last call"),
            column("num_turns", pa.int32(), "sampled turns"),
            column("prompt_length", pa.int32(), "tokens", null=True),
            column("response_length", pa.int32(), "tokens", null=True),
            column("is_trainable", pa.bool_(), "role train, tokens and log-probabilities present, reward known"),
            column("outcome_reward", pa.float64(), "sum of weight x value over outcome rewards; null unless known", null=True),
            column("failure_class", pa.string(), "of the infrastructure, null where none", null=True),
            column("worker_id", pa.string(), "who sampled it"),
            column("started_at", TIMESTAMP, "when sampling began", null=True),
            column("finished_at", TIMESTAMP, "when it ended", null=True),
            column("raw", pa.string(), "unmapped fields, canonical JSON"),
            column("lossy", STRINGS, "what the dialect lost: no_token_ids, no_logprobs ..."),
            column(
                "environment",
                pa.string(),
                "fingerprint of where an agent acted, canonical JSON; null where nothing was acted in",
                null=True,
            ),
            column("sandbox_tier", pa.string(), "A-D of udfs.sandbox; null where no code ran", null=True),
            column("env_retries", pa.int32(), "how often the episode was begun again because the environment failed", null=True),
        ]
    ),
    key=("trajectory_id",),
    partition="round",
    volatile=("worker_id", "started_at", "finished_at"),
    checks={"status_known": "status IN ('completed','truncated','aborted','failed','timeout','error')"},
)
