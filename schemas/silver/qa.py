"""silver.qa: candidate questions with contract and evidence."""

import pyarrow as pa

from schemas.table import Table, column

QA = Table(
    name="silver.qa",
    comment="Every candidate question that a conversion engine proposed, with its answer contract and evidence offsets.",
    schema=pa.schema(
        [
            column("qa_id", pa.string(), "content_id(doc_id, kind, question, answer, evidence_start)"),
            column("ingest_id", pa.string(), "ingest of the document"),
            column("doc_id", pa.string(), "silver.documents"),
            column("cluster_id", pa.string(), "near-duplicate cluster of the document"),
            column("split", pa.string(), "train or eval, inherited from the document"),
            column(
                "request_hash",
                pa.string(),
                "bronze.replies: the reply that proposed it; of added items a hash of their document, which no reply has",
            ),
            column("engine", pa.string(), "which engine proposed it; adapter or generator where it was added as a task"),
            column("template", pa.string(), "name@version of template or rule set"),
            column(
                "kind", pa.string(), "param_default, base_class, docstring_name, version_changed, cloze_number, cloze_date, cloze_name ..."
            ),
            column("subject", pa.string(), "what the question is about (a title, a dotted name)"),
            column("question", pa.string(), "self-contained question, without options or instructions"),
            column("answer", pa.string(), "gold answer as it stands in the evidence"),
            column("answer_type", pa.string(), "type of the contract; none where the item has none"),
            column("contract", pa.string(), "canonical JSON of schemas.contract.AnswerContract"),
            column("evidence_start", pa.int64(), "code point offset into the document's text"),
            column("evidence_end", pa.int64(), "end offset, exclusive"),
            column("evidence_hash", pa.string(), "text_hash of that span"),
            column("answer_start", pa.int64(), "code point offset of the answer within the document's text"),
            column("answer_end", pa.int64(), "end offset, exclusive"),
            column(
                "pattern",
                pa.string(),
                "hash of the question with its answer blanked, anchor left out: equal patterns with unequal answers collide",
            ),
            column("distractors", pa.string(), "canonical JSON list of same-type wrong answers for the choice form, may be empty"),
            column("domain", pa.string(), "topic of the source, from its metadata or source name"),
            column(
                "filter_reason", pa.string(), "null where the engine's own filters let it pass; else the filter that rejected it", null=True
            ),
        ]
    ),
    key=("qa_id",),
    partition="ingest_id",
)
