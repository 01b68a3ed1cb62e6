"""silver.judge_audits: what the checker said about items whose truth is known."""

import pyarrow as pa

from schemas.table import Table, column

JUDGE_AUDITS = Table(
    name="silver.judge_audits",
    comment="Labelled items and canaries that were put before the checking model among real ones, and its verdicts: what calibrates it.",
    schema=pa.schema(
        [
            column("ingest_id", pa.string(), "conversion in which it was asked"),
            column("audit_id", pa.string(), "content_id of the item as it was shown"),
            column("domain", pa.string(), "domain of the item"),
            column("label", pa.string(), "good or bad: what a careful person says"),
            column(
                "flaw", pa.string(), "of a bad one: labelled, or how it was spoiled (answer_altered, answer_in_question ...)", null=True
            ),
            column("verdict", pa.string(), "passed, rejected, failed (no readable reply)"),
            column("reason", pa.string(), "why the checker rejected it, in its categories"),
            column("template", pa.string(), "name@version of the checker's template"),
            column("model", pa.string(), "which model replied", null=True),
            column("request_hash", pa.string(), "bronze.replies", null=True),
        ]
    ),
    key=("ingest_id", "audit_id"),
    partition="ingest_id",
    checks={"label_known": "label IN ('good','bad')", "verdict_known": "verdict IN ('passed','rejected','failed')"},
)
