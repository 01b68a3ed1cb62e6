"""gold.alerts: anomalies of a round."""

import pyarrow as pa

from schemas.table import Table, column

ALERTS = Table(
    name="gold.alerts",
    comment="Anomalies of a round: which figure left which bound, and what to do.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round"),
            column("name", pa.string(), "null_reward_share, duplicate_share, format_failures, zero_variance_share, worker_outlier ..."),
            column("slice_kind", pa.string(), "as in gold.round_metrics"),
            column("slice", pa.string(), "value of the slice"),
            column("severity", pa.string(), "warn, block"),
            column("value", pa.float64(), "what was measured"),
            column("bound", pa.float64(), "what conf allows"),
            column("message", pa.string(), "what it means and what to do"),
        ]
    ),
    key=("round", "name", "slice_kind", "slice"),
    partition="round",
    checks={"severity_known": "severity IN ('warn','block')"},
)
