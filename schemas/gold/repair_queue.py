"""gold.repair_queue: what a person must look at."""

import pyarrow as pa

from schemas.table import Table, column

REPAIR_QUEUE = Table(
    name="gold.repair_queue",
    comment="Tasks whose gold the policy contradicts so consistently that a person must look. Write-once per round.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round that raised it"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_version", pa.int32(), "version in doubt"),
            column("prompt_id", pa.string(), "prompt on which it showed"),
            column("task_type", pa.string(), "kind"),
            column("question", pa.string(), "question"),
            column("gold", pa.string(), "gold answer"),
            column("majority_answer", pa.string(), "what the policy says"),
            column("majority_count", pa.int32(), "how often"),
            column("n_valid", pa.int32(), "of how many"),
            column("rank", pa.int32(), "1 = look first; the queue is capped by conf"),
            column("why", pa.string(), "majority_against_gold, ..."),
        ]
    ),
    key=("round", "task_id"),
    partition="round",
    write_once=True,
)
