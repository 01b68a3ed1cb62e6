"""A lake of documents of 1 kB with every reply of the chain recorded, for benchmarks of what Spark does around the workers."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gpu_workers.programs.program import Origin
from gpu_workers.programs.replies import reply_row
from schemas.bronze.replies import REPLIES
from schemas.handoff import RunPlan
from schemas.silver.documents import DOCUMENTS
from tests import chain_model
from tests.faults.handoff_runs import convert_item
from udfs.conversion.ask import Document
from udfs.conversion.chain import convert
from udfs.conversion.drive import drive
from udfs.conversion.recipe import Recipe
from udfs.replies.request import call_of, request_of

NOW = datetime(2026, 1, 2, tzinfo=UTC)
_PLAN = RunPlan(
    run_id="recorded",
    program="convert",
    engine="openai",
    shards=(),
    rows={},
    settings={},
    lease_seconds=1.0,
    max_attempts=1,
    fingerprint="f",
)


def record(ctx, documents):
    """Fill silver.documents and bronze.replies as if a run had converted them."""
    recipe, items, replies = Recipe(), [], []
    for k in range(documents):
        item = convert_item(k, chain_model.bridge(k, "It is made of stone and iron. " * 30), title=None, ingest_id="one")
        items.append(item)
        document = Document(item["doc_id"], item["source"], item["uri"], item["title"], item["text"], item["metadata"])
        drive(convert(document, recipe), lambda ask, item=item: _answered(ask, item, replies))
    plain = {pa.string(): "", pa.int32(): 1, pa.int64(): 0, pa.float64(): 0.0}
    rows = [
        {f.name: item.get(f.name, None if f.nullable else plain.get(f.type, [])) for f in DOCUMENTS.schema}
        | {"cluster_id": item["doc_id"], "split": "train"}
        for item in items
    ]
    for table, name, made in ((DOCUMENTS, "one", rows), (REPLIES, "recorded", replies)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            pq.write_table(pa.Table.from_pylist(made, schema=table.schema), path, row_group_size=20_000)
            with ctx.open(f"seed.{table.name}", f"slice={name}", reads={}, writes={table: name}) as job:
                job.write(table, lambda path=path: ctx.spark.read.parquet(str(path)))


def _answered(ask, item, replies):
    body = {
        "messages": list(ask.messages()), "response_format": {"json_schema": {"schema": ask.schema}},
    }  # fmt: skip
    reply, call = chain_model.answer(body), call_of(ask, body["messages"], "stub@")
    replies.append(reply_row(
        _PLAN, item, Origin("w", 1), lambda: NOW, request_hash=request_of(call, 0), call_hash=call, reply=reply, finish_reason="stop", model="stub@",
        stage=ask.stage, ordinal=ask.ordinal, template=ask.template.label, domain=ask.domain, persona=ask.persona, prompt_tokens=3, completion_tokens=9,
    ))  # fmt: skip
    return reply
