"""ops.rounds: the ledger of rounds."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

ROUNDS = Table(
    name="ops.rounds",
    comment="Append-only events of a round's life; the newest event is its state.",
    schema=pa.schema(
        [
            column("event_id", pa.string(), "content_id(round, state, plan fingerprint)"),
            column("round", pa.int32(), "round"),
            column("state", pa.string(), "planned, rolled_out, checked, closed, published, tracked"),
            column("seq", pa.int32(), "order of the states: 1 planned ... 4 closed, 5 published, 6 tracked"),
            column("policy_id", pa.string(), "checkpoint that was rolled out"),
            column("fingerprint", pa.string(), "of the station that reached the state"),
            column("detail", pa.string(), "canonical JSON"),
            column("at", TIMESTAMP, "when"),
        ]
    ),
    key=("event_id",),
    partition=None,
    volatile=("at",),
    writer="deltalake",
)
