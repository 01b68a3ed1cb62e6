"""Admission over Arrow batches: what Spark maps over candidates, documents, earlier tasks and admitted items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from schemas.conf import Form
from schemas.gold.prompts import PROMPTS
from schemas.ids import canonical_json, content_id
from schemas.silver.qa import QA
from udfs.admission.checks import Window, check_item
from udfs.admission.contracts import read_contract
from udfs.admission.keys import answer_key, question_key, wording_key
from udfs.admission.rules import rules_of
from udfs.admission.siblings import Sibling, answered
from udfs.extract import patterns
from udfs.extract.candidate import normal
from udfs.prompts.passages import passage_around
from udfs.prompts.render import render
from udfs.sources.item import SOURCE_KINDS
from udfs.sources.prompts import prompts_of

Batches = Iterator[pa.RecordBatch]

#: How much of the document is carried before and after the evidence, in code points: enough to quote it with its surroundings.
WINDOW = 1200

WINDOW_COLUMNS = (
    pa.field("window", pa.string()),
    pa.field("window_start", pa.int64()),
    pa.field("n_chars", pa.int64()),
    pa.field("licence", pa.string()),
)
#: A candidate with its part of the document, and what the row checks found.
CHECKED = pa.schema(
    [
        *(pa.field(f.name, f.type, nullable=f.nullable) for f in QA.schema),
        *WINDOW_COLUMNS,
        pa.field("row_reason", pa.string()),
        pa.field("row_evidence", pa.string(), nullable=False),
        pa.field("row_probes", pa.string(), nullable=False),
        pa.field("question_key", pa.string(), nullable=False),
        pa.field("wording_key", pa.string(), nullable=False),
        pa.field("answer_key", pa.string(), nullable=False),
        pa.field("pattern_answer", pa.string(), nullable=False),
        pa.field("order_key", pa.string(), nullable=False),
    ]
)
PATTERNS = pa.schema(
    [
        pa.field("pattern", pa.string(), nullable=False),
        pa.field("pattern_answer", pa.string(), nullable=False),
        pa.field("doc_id", pa.string(), nullable=False),
    ]
)
EARLIER = pa.schema(
    [
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("question", pa.string(), nullable=False),
        pa.field("answer", pa.string(), nullable=False),
        pa.field("answer_type", pa.string(), nullable=False),
        pa.field("wording_key", pa.string(), nullable=False),
        pa.field("question_key", pa.string(), nullable=False),
        pa.field("answer_key", pa.string(), nullable=False),
    ]
)


SIBLINGS = pa.schema(
    [
        pa.field("qa_id", pa.string(), nullable=False),
        pa.field("sibling_id", pa.string()),
        pa.field("siblings", pa.int32(), nullable=False),
        pa.field("sibling_answered", pa.string()),
        pa.field("sibling_refused", pa.bool_(), nullable=False),
    ]
)


def _gold(contract: str, answer: str) -> str:
    """Gold of a stored contract; the answer itself where the contract is none."""
    try:
        gold = json.loads(contract)["gold"]
    except (ValueError, KeyError, TypeError):
        return answer
    return gold if isinstance(gold, str) else answer


def check_batches(batches: Batches, *, max_near_misses: int, allow_weak_sandbox: bool = False) -> Batches:
    """Candidates with their windows -> ``CHECKED``.

    Args:
        batches: columns of silver.qa and ``WINDOW_COLUMNS`` (null where the document is missing).
        max_near_misses: setting.
        allow_weak_sandbox: setting.
    """
    for batch in batches:
        rows: list[dict[str, Any]] = []
        for item in batch.to_pylist():
            window = None if item["window"] is None else Window(item["window"], item["window_start"], item["n_chars"])
            checked = check_item(item, window, max_near_misses=max_near_misses, allow_weak_sandbox=allow_weak_sandbox)
            item["contract"] = checked.contract or item["contract"]
            item |= {
                "row_reason": checked.reason,
                "row_evidence": canonical_json(checked.evidence),
                "row_probes": canonical_json(checked.probes),
                "question_key": checked.question_key,
                "wording_key": wording_key(item["question"], item["subject"]),
                "answer_key": checked.answer_key,
                "pattern_answer": normal(_gold(item["contract"], item["answer"])),
                "order_key": content_id("base_rate", item["qa_id"]),
            }
            rows.append(item)
        yield pa.RecordBatch.from_pylist(rows, schema=CHECKED)


def pattern_batches(batches: Batches) -> Batches:
    """Documents (doc_id, title, text) -> ``PATTERNS``: every question that any of their sentences could have been made into."""
    for batch in batches:
        for doc in batch.to_pylist():
            found = patterns(doc["text"], doc["title"])
            yield pa.RecordBatch.from_pydict(
                {"pattern": [p for p, _ in found], "pattern_answer": [a for _, a in found], "doc_id": [doc["doc_id"]] * len(found)},
                schema=PATTERNS,
            )


def earlier_batches(batches: Batches) -> Batches:
    """Tasks of earlier ingests (task_id, kind, cluster_id, subject, question, answer, answer_type, contract) -> ``EARLIER``."""
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            contract = read_contract(row["contract"])
            keys = {"question_key": question_key(row["question"], contract), "answer_key": answer_key(contract)}
            wording = wording_key(row["question"], row["subject"])
            kept = ("task_id", "kind", "cluster_id", "question", "answer", "answer_type")
            rows.append({name: row[name] for name in kept} | keys | {"wording_key": wording})
        yield pa.RecordBatch.from_pylist(rows, schema=EARLIER)


def sibling_batches(batches: Batches, *, reject: bool) -> Batches:
    """Groups (``members``: a list of qa_id, question, answer, answer_key, order_key, engine) -> ``SIBLINGS``.

    Args:
        batches: one row a group; tasks of earlier ingests have an empty order_key.
        reject: whether sibling leakage turns candidates away.
    """
    for batch in batches:
        rows: list[dict[str, Any]] = []
        for group in batch.column("members").to_pylist():
            members = [
                Sibling(
                    m["qa_id"],
                    m["question"],
                    m["answer"],
                    m["answer_key"],
                    m["order_key"],
                    strict=reject and rules_of(m["engine"]).siblings,
                )
                for m in group
            ]
            rows += [
                {"qa_id": a.ident, "sibling_id": a.by, "siblings": a.count, "sibling_answered": a.answers, "sibling_refused": a.refused}
                for a in answered(members)
            ]
        yield pa.RecordBatch.from_pylist(rows, schema=SIBLINGS)


def prompt_batches(batches: Batches, *, forms: Sequence[Form], n_options: int) -> Batches:
    """Tasks with their windows and a pool of same-kind answers -> rows of gold.prompts, one for every form that can be had soundly.

    Args:
        batches: columns of gold.tasks, ``WINDOW_COLUMNS``, and ``pool`` (list of strings or null).
        forms: which forms.
        n_options: wished number of options of a choice.
    """
    for batch in batches:
        rows: list[dict[str, Any]] = []
        for task in batch.to_pylist():
            if task["source_kind"] in SOURCE_KINDS:
                rows.extend(prompts_of(task, forms))
                continue
            offset = task["window_start"]
            passage = passage_around(task["window"], task["evidence_start"] - offset, task["evidence_end"] - offset)
            made = (render(task, form, passage=passage, pool=task["pool"] or (), n_options=n_options) for form in forms)
            rows.extend(row for row in made if row is not None)
        yield pa.RecordBatch.from_pylist(rows, schema=PROMPTS.schema)
