"""gold.tasks: the pool of verifiable tasks."""

import pyarrow as pa

from schemas.table import STRINGS, Table, column

TASKS = Table(
    name="gold.tasks",
    comment="The pool: verifiable tasks with contract, verifier, allowed roles and lineage; a new version is a new row.",
    schema=pa.schema(
        [
            column("task_id", pa.string(), "qa_id of its first version, or content_id of base task and constraint"),
            column("version", pa.int32(), "from 1; the highest version is in force"),
            column("origin", pa.string(), "slice that wrote it: ingest=<ingest_id>, plan=<round> or feedback=<round>"),
            column("kind", pa.string(), "task type: kind of its question, or format_json, format_one_word, format_unit"),
            column("source_kind", pa.string(), "corpus, constraint, benchmark, generator, conversation, safety, format"),
            column("split", pa.string(), "train or eval; an eval task is never trained on"),
            column("allowed_roles", STRINGS, "of train, probe, eval, canary, regression"),
            column("subject", pa.string(), "what it is about"),
            column("question", pa.string(), "question"),
            column("answer", pa.string(), "gold answer"),
            column("answer_type", pa.string(), "number, date, text, choice, expression, set, interval, list, code"),
            column("contract", pa.string(), "canonical JSON of schemas.contract.AnswerContract, or of schemas.code.CodeContract"),
            column("verifier", pa.string(), "name@version"),
            column("cluster_id", pa.string(), "near-duplicate cluster of its document: the unit of splitting and pairing"),
            column("domain", pa.string(), "topic"),
            column("stage", pa.int32(), "curriculum stage: 1 easy to copy ... 3 needs more; by kind, of added items by their difficulty"),
            column("status", pa.string(), "active, repair (in the repair queue), retired"),
            column("status_reason", pa.string(), "why it is not active", null=True),
            column("qa_id", pa.string(), "silver.qa it came from"),
            column("doc_id", pa.string(), "document of the evidence"),
            column("evidence_start", pa.int64(), "offset of the evidence"),
            column("evidence_end", pa.int64(), "end offset, exclusive"),
            column("parent_task_id", pa.string(), "base task of a constraint task", null=True),
            column("distractors", pa.string(), "canonical JSON list"),
            column("licence", pa.string(), "licence of the document", null=True),
        ]
    ),
    key=("task_id", "version"),
    partition="origin",
    checks={"split_known": "split IN ('train','eval')", "status_known": "status IN ('active','repair','retired')"},
)
