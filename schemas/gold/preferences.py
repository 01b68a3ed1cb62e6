"""gold.preferences: pairs within one prompt."""

import pyarrow as pa

from schemas.table import Table, column

PREFERENCES = Table(
    name="gold.preferences",
    comment="Preference pairs within one prompt, with score gap and source of judgement. Write-once per round.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round"),
            column("pair_id", pa.string(), "content_id(chosen, rejected)"),
            column("prompt_id", pa.string(), "gold.prompts"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_type", pa.string(), "kind"),
            column("system", pa.string(), "system message"),
            column("prompt", pa.string(), "user message"),
            column("chosen", pa.string(), "better response"),
            column("rejected", pa.string(), "worse response"),
            column("chosen_trajectory_id", pa.string(), "silver.trajectories"),
            column("rejected_trajectory_id", pa.string(), "silver.trajectories"),
            column("score_gap", pa.float64(), "outcome reward of chosen less that of rejected"),
            column("judged_by", pa.string(), "verifier name@version"),
            column("licence", pa.string(), "licence of the document", null=True),
        ]
    ),
    key=("round", "pair_id"),
    partition="round",
    write_once=True,
    checks={"gap_positive": "score_gap > 0"},
)
