"""gold.sft: verified answers for supervised fine-tuning."""

import pyarrow as pa

from schemas.table import Table, column

SFT = Table(
    name="gold.sft",
    comment="Supervised rows from verified answers: at most a few per prompt, best first. Write-once per round.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round"),
            column("sft_id", pa.string(), "content_id(trajectory_id, 'sft')"),
            column("prompt_id", pa.string(), "gold.prompts"),
            column("task_id", pa.string(), "gold.tasks"),
            column("trajectory_id", pa.string(), "silver.trajectories"),
            column("task_type", pa.string(), "kind"),
            column("system", pa.string(), "system message"),
            column("prompt", pa.string(), "user message"),
            column("response", pa.string(), "verified answer"),
            column("reward", pa.float64(), "outcome reward"),
            column("licence", pa.string(), "licence of the document", null=True),
        ]
    ),
    key=("round", "sft_id"),
    partition="round",
    write_once=True,
)
