"""One verdict from the outcomes of all checks, with every figure that they measured."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from schemas.ids import canonical_json
from schemas.silver.qa_verdicts import QA_VERDICTS
from udfs.admission.batches import Batches
from udfs.admission.rules import rules_of

Finding = tuple[str, dict[str, Any]]


def verdict_of(row: dict[str, Any]) -> dict[str, Any]:
    """One row of silver.qa_verdicts; the first check that rejects gives the reason.

    Args:
        row: ``CHECKED`` and, each null where it does not apply, ``collision_answer, collision_doc``, ``question_reason, question_other``,
            ``base_rank, base_cap, base_items``, ``type_items, type_same, wording_items, wording_same``, ``sibling_id, siblings, sibling_answered,
            sibling_refused``.
    """
    probes, findings = _findings(row)
    reason, evidence = findings[0] if findings else ("admitted", {})
    return {
        "qa_id": row["qa_id"],
        "ingest_id": row["ingest_id"],
        "kind": row["kind"],
        "state": "rejected" if findings else "admitted",
        "reason": reason,
        "evidence": canonical_json(evidence),
        "probes": canonical_json(probes),
    }


def _findings(row: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Every probe, and what rejects, in the order of the checks."""
    probes, rules = json.loads(row["row_probes"]), rules_of(row["engine"])
    findings: list[Finding] = [] if row["row_reason"] is None else [(row["row_reason"], json.loads(row["row_evidence"]))]
    collision = None if row["collision_doc"] is None else {"doc_id": row["collision_doc"], "answer": row["collision_answer"]}
    probes["collision"] = collision or "none"
    if collision and rules.collision:
        findings.append(("collision", collision))
    asked = None if row["question_reason"] is None else {"other": row["question_other"]}
    probes["question"] = "not compared" if findings else "unique"
    if asked:
        probes["question"] = asked | {"reason": row["question_reason"]}
        findings.append((row["question_reason"], asked))
    # What was not compared with the others has been rejected by a check before.
    rate = {"rank": row["base_rank"], "cap": row["base_cap"], "items_of_kind": row["base_items"]}
    rated = row["base_rank"] is not None
    probes["base_rate"] = rate | {"items_of_type": row["type_items"], "same_answer": row["type_same"]} if rated else "not compared"
    probes["without_subject"] = _wording(row) if rated else "not compared"
    if rated and rules.base_rate and row["base_rank"] > row["base_cap"]:
        findings.append(("base_rate", rate))
    probes["siblings"] = "not compared" if findings or not rated else "none"
    if row["siblings"] is not None:
        by = {} if row["sibling_id"] is None else {"answered_by": row["sibling_id"], "count": row["siblings"]}
        probes["siblings"] = sibling = by | ({} if row["sibling_answered"] is None else {"answers": row["sibling_answered"]})
        if row["sibling_refused"]:
            findings.append(("sibling_leak", sibling))
    return probes, findings


def _wording(row: dict[str, Any]) -> dict[str, Any] | str:
    """How often the question's wording, asked of other subjects, has this answer: what somebody could guess who does not read the subject."""
    if row["wording_items"] is None:
        return "unknown"
    return {"same_wording": row["wording_items"], "same_answer": row["wording_same"]}


def verdict_batches(batches: Batches) -> Batches:
    """Outcomes of all checks -> rows of silver.qa_verdicts."""
    for batch in batches:
        yield pa.RecordBatch.from_pylist([verdict_of(row) for row in batch.to_pylist()], schema=QA_VERDICTS.schema)
