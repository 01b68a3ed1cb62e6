"""silver.contamination: which text holds which benchmark item."""

import pyarrow as pa

from schemas.table import Table, column

CONTAMINATION = Table(
    name="silver.contamination",
    comment="One row a document, candidate question or task and benchmark item that it holds: by how much, and where. No row: it holds none.",
    schema=pa.schema(
        [
            column("scope", pa.string(), "what was searched: documents=<ingest_id>, questions=<ingest_id>, or tasks"),
            column("kind", pa.string(), "document, question, task"),
            column("row_id", pa.string(), "doc_id, qa_id or task_id"),
            column("doc_id", pa.string(), "document itself, or of the evidence"),
            column("benchmark", pa.string(), "bronze.benchmark_items: name@fingerprint; eval_tasks@... for the lake's own eval tasks"),
            column("item_id", pa.string(), "item of that set"),
            column("part", pa.string(), "question, answer (or its solution), both (a short question beside its answer)"),
            column(
                "coverage",
                pa.float64(),
                "share of item_tokens that the text holds in one place, plain or weighted by rarity in the set, whichever is smaller",
            ),
            column("matched_tokens", pa.int32(), "tokens of the item that lie in an n-gram which the text holds, too"),
            column("item_tokens", pa.int32(), "tokens of the item's part that count: without templates of its set and common phrases"),
            column(
                "span_start",
                pa.int64(),
                "code point offset into the text searched: of a document as received; of a question, newline, answer",
            ),
            column("span_end", pa.int64(), "end offset, exclusive"),
            column("evidence", pa.string(), "canonical JSON of the above, as verdicts quote it"),
            column("scheme", pa.string(), "name and version of matching"),
        ]
    ),
    key=("scope", "row_id", "benchmark", "item_id", "part"),
    partition="scope",
    checks={"kind_known": "kind IN ('document','question','task')", "part_known": "part IN ('question','answer','both')"},
)
