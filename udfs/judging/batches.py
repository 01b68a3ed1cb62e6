"""Arrow in, Arrow out: the responses of a group become items for a judge."""

from __future__ import annotations

import pyarrow as pa

from schemas.handoff import JUDGE_SHARD
from udfs.judging.choose import Answer, Asking, items_of

#: Columns of responses, as :func:`judge_items` takes them.
ANSWERS = pa.schema([
    pa.field("group_id", pa.string(), nullable=False),
    pa.field("trajectory_id", pa.string(), nullable=False),
    pa.field("question", pa.string(), nullable=False),
    pa.field("reference", pa.string()),
    pa.field("response", pa.string(), nullable=False),
])  # fmt: skip


def judge_items(asking: Asking, group: pa.Table) -> pa.Table:
    """Items about one group.

    Args:
        asking: settings.
        group: ``ANSWERS`` of one ``group_id``, in any order.
    """
    rows = group.select(ANSWERS.names).to_pylist()
    answers = [Answer(row["trajectory_id"], row["question"], row["reference"], row["response"]) for row in rows]
    return pa.Table.from_pylist(list(items_of(asking, rows[0]["group_id"], answers)), schema=JUDGE_SHARD)
