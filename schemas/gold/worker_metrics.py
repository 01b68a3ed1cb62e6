"""gold.worker_metrics: figures of a round by worker and by time window."""

import pyarrow as pa

from schemas.table import Table, column

WORKER_METRICS = Table(
    name="gold.worker_metrics",
    comment="Figures of a round by worker and time window: about the machines that made it, so apart from gold.round_metrics.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round"),
            column("name", pa.string(), "metric as in gold.round_metrics, or worker_z"),
            column("slice_kind", pa.string(), "worker, time_window"),
            column("slice", pa.string(), "worker_id, or start of the window in UTC"),
            column("numerator", pa.int64(), "count that the value is made of"),
            column("denominator", pa.int64(), "count it is taken over; 0 where the value is unknown"),
            column("value", pa.float64(), "numerator / denominator; worker_z: standard errors from the other workers", null=True),
        ]
    ),
    key=("round", "name", "slice_kind", "slice"),
    partition="round",
    volatile_rows=True,
)
