"""A generated candidate, and the row of silver.qa that it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas.contract import AnswerContract
from schemas.ids import text_hash
from udfs.admission.keys import answer_key, question_key
from udfs.conversion.contracts import ContractRefusedError, fallback_contract
from udfs.conversion.evidence import EvidenceRefusedError, Proof, prove
from udfs.conversion.passage import Passage
from udfs.conversion.readings import Generated
from udfs.extract.candidate import dotted_pattern_id, normal
from udfs.extract.wording import STOPWORDS
from udfs.prompts.leaks import given_away
from udfs.replies.items import COMPUTED, REPEATED

#: The question contains the answer word for word: no checker need be paid to say so.
LEAKING = "answer_in_question"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate after the evidence stage: its proof, the reason why it goes no further, and the question as questions are compared."""

    made: Generated
    passage: Passage
    proof: Proof | None
    reason: str | None
    key: str

    def shown_answer(self) -> str:
        """The answer as the checker sees it: with its unit and with what else would count as right."""
        made = self.made
        answer = made.answer if made.unit is None or made.unit in made.answer else f"{made.answer} {made.unit}"
        aliases = () if self.proof is None else self.proof.contract.aliases
        return f"{answer}\n(as right counts also: {'; '.join(aliases)})" if aliases else answer

    def row(self, domain: str) -> dict[str, Any]:
        """The columns of silver.qa that an engine knows; offsets are of the document. What has no proof has no place: its offsets are 0."""
        made, proof = self.made, self.proof
        text = self.passage.text
        contract: AnswerContract = fallback_contract(made) if proof is None else proof.contract
        (start, end), (answer_start, answer_end) = ((0, 0), (0, 0)) if proof is None else (proof.evidence, proof.answer)
        shift = 0 if proof is None else self.passage.offset
        return {
            "kind": COMPUTED if proof is not None and proof.computed else f"generated_{made.answer_type}",
            # A generated question stands by itself: no title is shown beside it.
            "subject": "",
            "question": made.question,
            "answer": made.answer if proof is None or proof.computed else text[answer_start:answer_end],
            "answer_type": contract.type,
            "contract": contract.canonical(),
            "evidence_start": start + shift,
            "evidence_end": end + shift,
            "evidence_hash": text_hash(text[start:end]),
            "answer_start": answer_start + shift,
            "answer_end": answer_end + shift,
            "pattern": dotted_pattern_id("generated", self.key),
            "distractors": "[]",
            "domain": domain,
            "filter_reason": self.reason,
        }


class Siblings:
    """The candidates of one document that are proved so far: none is asked for twice."""

    def __init__(self) -> None:
        self._seen: set[object] = set()

    def candidate(self, made: Generated, passage: Passage) -> Candidate:
        """A generated question with its proof, or with why it is rejected."""
        key = question_key(made.question)
        try:
            proof = prove(made, passage)
        except (EvidenceRefusedError, ContractRefusedError) as error:
            return Candidate(made, passage, None, error.reason, key)
        if given_away(proof.contract, made.answer, made.question) is not None:
            return Candidate(made, passage, proof, LEAKING, key)
        # One is asked for twice where the question is the same, or the answer and the words of the question in whatever order.
        keys = key, (answer_key(proof.contract), frozenset(normal(made.question).split()) - STOPWORDS)
        repeated = not self._seen.isdisjoint(keys)
        self._seen.update(keys)
        return Candidate(made, passage, proof, REPEATED if repeated else None, key)
