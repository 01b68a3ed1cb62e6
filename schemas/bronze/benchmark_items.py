"""bronze.benchmark_items: what must not be trained on, as received."""

import pyarrow as pa

from schemas.table import STRINGS, TIMESTAMP, Table, column

BENCHMARK_ITEMS = Table(
    name="bronze.benchmark_items",
    comment="Items of benchmark sets, one slice a version; of each name the version added last is in force, the others stay known.",
    schema=pa.schema(
        [
            column("benchmark", pa.string(), "version of the set: name@fingerprint of its content"),
            column("name", pa.string(), "name of the set"),
            column("item_id", pa.string(), "its own id in the set, or its position where it has none"),
            column("question", pa.string(), "what is asked"),
            column("answer", pa.string(), "final answer; empty where the set has none in words"),
            column("solution", pa.string(), "worked solution or reference code; may be empty"),
            column("choices", STRINGS, "options of a multiple choice, in order"),
            column("tests", pa.string(), "tests of a coding task; may be empty"),
            column("added_at", TIMESTAMP, "when"),
        ]
    ),
    key=("benchmark", "item_id"),
    partition="benchmark",
    volatile=("added_at",),
)
