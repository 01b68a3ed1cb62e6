"""The checks of one candidate, by itself and against its document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from schemas.code import CodeContract
from schemas.contract import AnswerContract
from schemas.ids import text_hash
from udfs.admission.contracts import NO_CONTRACT, Contract, read_contract, try_code
from udfs.admission.keys import answer_key, question_key
from udfs.admission.repair import try_and_repair
from udfs.admission.rules import rules_of
from udfs.extract.leak import leaks
from udfs.grading import grade
from udfs.grading.numbers import parse_quantity
from udfs.prompts.leaks import contains, given_away
from udfs.prompts.options import one_line
from udfs.prompts.templates import load
from udfs.replies.items import COMPUTED
from udfs.sandbox.sandbox import default_sandbox

#: Version of the rules in this package; a change that can alter a verdict raises it.
RULES_VERSION = "2"


@dataclass(frozen=True, slots=True)
class Checked:
    """Outcome of the row checks.

    Attributes:
        reason: first failing check, None where all passed.
        evidence: what the first failing check saw.
        probes: what every check measured, in their order.
        question_key: for duplicates.
        answer_key: for collisions, duplicates and base rates.
        contract: the contract that tasks get, canonical JSON; None where it cannot be read. Another than the candidate's where it was repaired.
    """

    reason: str | None
    evidence: dict[str, Any]
    probes: dict[str, Any]
    question_key: str
    answer_key: str
    contract: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a document around an evidence span: enough to check and to quote it.

    Attributes:
        text: code points from ``offset`` on.
        offset: where it begins in the document.
        length: code points of the whole document.
    """

    text: str
    offset: int
    length: int

    def span(self, start: int, end: int) -> str | None:
        """The document's text from ``start`` to ``end``; None where that is no span of it or not within the window."""
        if not 0 <= start < end <= self.length or start < self.offset or end > self.offset + len(self.text):
            return None
        return self.text[start - self.offset : end - self.offset]


def _evidence(item: Mapping[str, Any], window: Window | None) -> dict[str, Any] | None:
    """What is wrong with the evidence span; None where it is found again."""
    span = [item["evidence_start"], item["evidence_end"]]
    if window is None:
        return {"doc_id": item["doc_id"], "why": "no such document in silver.documents"}
    text = window.span(*span)
    if text is None:
        return {"doc_id": item["doc_id"], "why": "offsets outside of the document", "span": span, "length": window.length}
    found = text_hash(text)
    return (
        None
        if found == item["evidence_hash"]
        else {"doc_id": item["doc_id"], "why": "other text than was quoted", "span": span, "hash": found}
    )


def _answer_place(item: Mapping[str, Any], window: Window, contract: Contract) -> dict[str, Any] | None:
    """What is wrong with the answer's place; None where it lies within the evidence and reads as the answer."""
    start, end = item["answer_start"], item["answer_end"]
    said = window.span(start, end)
    if said is None or start < item["evidence_start"] or end > item["evidence_end"]:
        return {"why": "answer outside of the evidence", "span": [start, end]}
    # What is worked out has no place of its own: the chain that proposed it has worked it out again (udfs.conversion.evidence).
    if said == item["answer"] or (item.get("kind") == COMPUTED and (start, end) == (item["evidence_start"], item["evidence_end"])):
        return None
    # Where the gold cannot be read under its contract, the contract's own check says so.
    if isinstance(contract, AnswerContract) and grade(contract, said).verdict in ("correct", "unparsable_gold"):
        return None
    return {"why": "the text at the answer's place is not the answer", "span": [start, end], "text": said[:200]}


def _leak(item: Mapping[str, Any], contract: Contract) -> dict[str, Any] | None:
    """What the closed-book prompt gives away: the question with its subject by stem and subword, the whole prompt word for word.

    Of code, a prompt that holds the reference program itself.
    """
    answer = item["answer"]
    if isinstance(contract, CodeContract):
        return {"word": answer[:200], "where": "question"} if contains(item["question"], answer) else None
    shown = f"{item['subject']}\n{item['question']}"
    # A quantity leaks by its number: its unit may stand in the question.
    number = parse_quantity(answer) if contract.type == "number" else None
    bare = answer if number is None or not number.unit else contract.gold
    # Variables of a formula stand in its question; word for word it is looked for below.
    word = None if contract.type == "expression" else leaks(bare, shown)
    if word is not None:
        return {"word": word, "where": "question"}
    template = load("answer_only")
    prompt = f"{template.system}\n{template.fill({'question': one_line(item['question'])})}"
    given = given_away(contract, answer, prompt)
    return None if given is None else {"word": given, "where": "prompt"}


def _distractors(item: Mapping[str, Any]) -> tuple[str, ...]:
    try:
        values = json.loads(item["distractors"])
    except ValueError:
        return ()
    return tuple(v for v in values if isinstance(v, str)) if isinstance(values, list) else ()


Failures = list[tuple[str, dict[str, Any]]]


def _contract(
    item: Mapping[str, Any], contract: Contract, max_near_misses: int, *, allow_weak_sandbox: bool
) -> tuple[Contract, Failures, dict[str, Any]]:
    """The contract, repaired where there is but one way; what its trial on itself rejects; what the trial measured."""
    if isinstance(contract, CodeContract):
        reason, probe = try_code(contract, item["answer"], partial(default_sandbox, allow_weaker=allow_weak_sandbox))
        lenient = reason == "contract_accepts_near_miss" and not rules_of(item["engine"]).weak_tests
        return contract, [] if reason is None or lenient else [(reason, {"problems": probe["problems"]})], probe
    tried = try_and_repair(contract, item["answer"], others=_distractors(item), seed=item["qa_id"], limit=max_near_misses)
    trial, left, failures = tried.trial, tried.left, []
    if left.refused is not None:
        failures.append(("contract_rejects_gold", {"text": left.refused[:200], "verdict": left.verdict}))
    if left.accepted is not None:
        failures.append(("contract_accepts_near_miss", {"text": left.accepted[:200]}))
    probe = {
        "right": trial.n_right, "right_refused": trial.n_refused, "refused": trial.refused, "near_misses": trial.n_near_misses,
        "near_misses_accepted": trial.n_accepted, "accepted": trial.accepted,
    }  # fmt: skip
    return tried.contract, failures, probe | ({"repaired": tried.repaired} if tried.repaired else {})


def check_item(item: Mapping[str, Any], window: Window | None, *, max_near_misses: int, allow_weak_sandbox: bool = False) -> Checked:
    """Run every row check on one candidate; none is left out because an earlier one failed.

    Args:
        item: row of silver.qa; its engine decides which findings reject (``udfs.admission.rules``).
        window: its document around the evidence, None where the document is not there.
        max_near_misses: at most so many near misses are tried.
        allow_weak_sandbox: programs are tried where only rlimits bound them (tier D), rather than raise.

    Raises:
        SandboxUnavailableError: its contract is of code, and this machine cannot run programs safely.
    """
    probes: dict[str, Any] = {"engine": item["filter_reason"] or "passed"}
    failures: Failures = []
    if item["filter_reason"]:
        failures.append((f"engine:{item['filter_reason']}", {"filter": item["filter_reason"]}))
    wrong = _evidence(item, window)
    probes["evidence"] = wrong or "found"
    if wrong:
        failures.append(("evidence_mismatch", wrong))
    try:
        contract = read_contract(item["contract"])
    except NO_CONTRACT as error:
        problem = {"why": "not a contract", "errors": str(error)[:200]}
        probes["contract"] = problem
        failures.append(("contract_rejects_gold", problem))
        return Checked(failures[0][0], failures[0][1], probes, question_key(item["question"]), "text:" + item["answer"])
    contract, errs, measured = _contract(item, contract, max_near_misses, allow_weak_sandbox=allow_weak_sandbox)
    misplaced = None if wrong or window is None else _answer_place(item, window, contract)
    probes["answer"] = "unknown" if wrong else misplaced or "in_evidence"
    if misplaced:
        failures.append(("answer_not_in_evidence", misplaced))
    probes["contract"] = measured
    failures += errs
    leak = _leak(item, contract)
    probes["leak"] = leak or "none"
    if leak and rules_of(item["engine"]).leak:
        failures.append(("leak", leak))
    reason, evidence = failures[0] if failures else (None, {})
    keys = question_key(item["question"], contract), answer_key(contract)
    return Checked(reason, evidence, probes, *keys, contract.canonical())
