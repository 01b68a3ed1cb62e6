"""silver.qa_verdicts: one state for every candidate question."""

import pyarrow as pa

from schemas.table import Table, column

QA_VERDICTS = Table(
    name="silver.qa_verdicts",
    comment="What became of every candidate of silver.qa: admitted or rejected, why, and the probes that were measured.",
    schema=pa.schema(
        [
            column("qa_id", pa.string(), "silver.qa"),
            column("ingest_id", pa.string(), "ingest of the document"),
            column("kind", pa.string(), "kind of question"),
            column("state", pa.string(), "admitted, rejected"),
            column(
                "reason",
                pa.string(),
                "admitted, engine:<filter>, evidence_mismatch, answer_not_in_evidence, contract_rejects_gold, contract_accepts_near_miss, contract_untried, leak, base_rate, collision, duplicate_question, sibling_leak",
            ),
            column("evidence", pa.string(), "canonical JSON: the other qa_id or doc_id, the near miss, the leaking word, the counts"),
            column("probes", pa.string(), "canonical JSON of what was measured, in the order of the probes"),
        ]
    ),
    key=("qa_id",),
    partition="ingest_id",
    checks={"state_known": "state IN ('admitted','rejected')"},
)
