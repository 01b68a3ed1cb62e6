"""gold.round_metrics: figures of a round."""

import pyarrow as pa

from schemas.table import Table, column

ROUND_METRICS = Table(
    name="gold.round_metrics",
    comment="Figures of a round by slice; counts are integers, so that sums are exact.",
    schema=pa.schema(
        [
            column("round", pa.int32(), "round"),
            column("name", pa.string(), "metric, from the fixed vocabulary of conf"),
            column("slice_kind", pa.string(), "all, task_type, role, context_mode, template, station"),
            column("slice", pa.string(), "value of the slice, 'all' where none"),
            column("numerator", pa.int64(), "count that the value is made of"),
            column("denominator", pa.int64(), "count it is taken over; 0 where the value is unknown"),
            column("value", pa.float64(), "numerator / denominator, or the figure itself", null=True),
        ]
    ),
    key=("round", "name", "slice_kind", "slice"),
    partition="round",
)
