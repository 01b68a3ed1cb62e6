"""silver.conversions: what became of every document at every stage of its conversion."""

import pyarrow as pa

from schemas.table import Table, column

CONVERSIONS = Table(
    name="silver.conversions",
    comment="Every document in exactly one state at every stage of conversion it reached, with what the stage cost: the funnel with prices.",
    schema=pa.schema(
        [
            column("ingest_id", pa.string(), "ingest of the document"),
            column("doc_id", pa.string(), "silver.documents"),
            column("stage", pa.string(), "extract, filter, identify, generate, evidence, check"),
            column("ordinal", pa.int32(), "which persona of the document, from 0; 0 in stages that know none"),
            column(
                "state",
                pa.string(),
                "passed, rejected, failed (no readable reply), unasked (the budget was spent, or quotas call for other documents)",
            ),
            column("reason", pa.string(), "passed, or what ended it here"),
            column("domain", pa.string(), "domain of the document; null before it is known", null=True),
            column("persona", pa.string(), "for whom the question is made; null in stages that know none", null=True),
            column("qa_id", pa.string(), "silver.qa: the candidate, in stages that have one", null=True),
            column("template", pa.string(), "name@version of the stage's template", null=True),
            column("model", pa.string(), "which model the stage asked; null where code decided", null=True),
            column("draws", pa.int32(), "replies and failures of the stage, earlier runs' too"),
            column("prompt_tokens", pa.int64(), "of all its replies"),
            column("cached_tokens", pa.int64(), "of the prompt tokens, from the engine's cache"),
            column("completion_tokens", pa.int64(), "of all its replies"),
            column("price_nanos", pa.int64(), "10^-9 of the currency, by the price table in force when this was computed"),
        ]
    ),
    key=("doc_id", "stage", "ordinal"),
    partition="ingest_id",
    checks={"state_known": "state IN ('passed','rejected','failed','unasked')"},
)
