"""What the chain lets pass, admission can check again from the row and the document alone."""

from __future__ import annotations

import pytest

from udfs.admission.checks import Window, check_item
from udfs.conversion.fewshots import fewshots
from udfs.conversion.passage import Passage
from udfs.conversion.readings import read_generated
from udfs.conversion.rows import Siblings

DOCUMENT = "Some other text before.\n\n"
EXAMPLES = {f"{domain} {i}": example for domain, examples in fewshots().items() for i, example in enumerate(examples)}


def admitted(example, **changes):
    made = read_generated(example.reply, example.passage)
    assert made is not None
    row = Siblings().candidate(made, Passage(example.passage, len(DOCUMENT))).row(example.domain)
    item = row | {"qa_id": "q", "doc_id": "d", "ingest_id": "i", "engine": "openai"} | changes
    text = DOCUMENT + example.passage
    return check_item(item, Window(text, 0, len(text)), max_near_misses=4)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_a_proved_candidate_is_admitted(example):
    # Without its last letters a formula may be the same one with a unit left out: what admission says of contracts is tried elsewhere.
    assert admitted(example).reason in (None, "contract_accepts_near_miss")


def test_a_computed_answer_stands_for_all_of_its_evidence():
    example = next(e for e in EXAMPLES.values() if '"computation": "1,991 - 1,280"' in e.reply)
    assert admitted(example, kind="generated_number").reason == "answer_not_in_evidence"
    assert admitted(example, answer_start=len(DOCUMENT) + 160).reason == "answer_not_in_evidence"
