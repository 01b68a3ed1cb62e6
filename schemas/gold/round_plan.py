"""gold.round_plan: which prompts a round rolls out, and why."""

import pyarrow as pa

from schemas.table import Table, column

ROUND_PLAN = Table(
    name="gold.round_plan",
    comment="What a round rolls out: role, number of samples, weight, reason. Write-once.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round"),
            column("prompt_id", pa.string(), "gold.prompts"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_version", pa.int32(), "version in force when the round was planned"),
            column("role", pa.string(), "train, probe, eval, canary"),
            column("task_type", pa.string(), "kind"),
            column("context_mode", pa.string(), "closed_book, open_book, choice"),
            column("n_samples", pa.int32(), "samples to draw"),
            column("weight", pa.float64(), "weight in training"),
            column("seed", pa.int64(), "seed_from(campaign seed, round, prompt_id)"),
            column("policy_id", pa.string(), "checkpoint to roll out"),
            column(
                "why",
                pa.string(),
                "reason code: seeded_stratum, in_band, failed_before, unexplored, skew, format_share, eval_fixed, probe_open_book ...",
            ),
            column("evidence", pa.string(), "canonical JSON: posterior, counts, stratum, quota"),
        ]
    ),
    key=("round", "prompt_id"),
    partition="round",
    write_once=True,
)
