"""silver.trajectory_verdicts: one quality state for every trajectory."""

import pyarrow as pa

from schemas.table import STRINGS, Table, column

TRAJECTORY_VERDICTS = Table(
    name="silver.trajectory_verdicts",
    comment="Quality of every trajectory: accepted, flagged (usable but odd) or rejected, and why.",
    schema=pa.schema(
        [
            column("trajectory_id", pa.string(), "silver.trajectories"),
            column("round", pa.int32(), "round"),
            column("state", pa.string(), "accepted, flagged, rejected"),
            column(
                "reason",
                pa.string(),
                "accepted, no_reward, bad_tokens, empty_response, copied_prompt, duplicate_response, abnormal_length, bad_format ...",
            ),
            column("flags", STRINGS, "all that was found, sorted"),
            column("failure_class", pa.string(), "infrastructure failure, null where none", null=True),
            column("evidence", pa.string(), "canonical JSON: figure, bound, the other trajectory"),
        ]
    ),
    key=("trajectory_id",),
    partition="round",
    checks={"state_known": "state IN ('accepted','flagged','rejected')"},
)
