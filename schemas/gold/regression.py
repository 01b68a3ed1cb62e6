"""gold.regression: failures kept to be tried again."""

import pyarrow as pa

from schemas.table import Table, column

REGRESSION = Table(
    name="gold.regression",
    comment="Eval-split prompts that a round failed: the growing set of collected failures. Write-once per round.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round in which it failed"),
            column("prompt_id", pa.string(), "gold.prompts"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_type", pa.string(), "kind"),
            column("policy_id", pa.string(), "checkpoint that failed"),
            column("n_valid", pa.int32(), "samples with known reward"),
            column("k", pa.int32(), "correct samples"),
            column("why", pa.string(), "all_wrong, ..."),
        ]
    ),
    key=("round", "prompt_id"),
    partition="round",
    write_once=True,
)
