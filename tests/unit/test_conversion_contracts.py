"""The contract of a generated answer; examples of the prompt pass the chain's own checks."""

from __future__ import annotations

import pytest

from schemas.contract import AnswerContract
from udfs.conversion.contracts import ContractRefusedError, contract_of
from udfs.conversion.evidence import prove
from udfs.conversion.fewshots import fewshots, shown_fewshots
from udfs.conversion.passage import Passage
from udfs.conversion.readings import Generated, read_generated
from udfs.conversion.recipe import DOMAINS
from udfs.grading import grade
from udfs.prompts.leaks import given_away


def made(answer: str, kind: str, *, unit: str | None = None, aliases: tuple[str, ...] = ()) -> Generated:
    return Generated(("quote",), "What is it?", answer, kind, unit, aliases, None)


@pytest.mark.parametrize(
    ("generated", "contract"),
    [
        (made("1,991 metres", "number"), AnswerContract(type="number", gold="1991", unit="metres")),
        (made("1,991", "number", unit="m"), AnswerContract(type="number", gold="1991", unit="m")),
        (made("1.5 million", "number"), AnswerContract(type="number", gold="1500000")),
        (made("42 monks", "number"), AnswerContract(type="number", gold="42")),
        (made("−3.50", "number", unit="°C"), AnswerContract(type="number", gold="-3.5", unit="°C")),
        (made("2/3", "number"), AnswerContract(type="number", gold="2/3")),
        (made("12 %", "number", unit="%"), AnswerContract(type="number", gold="12", unit="%")),
        (made("twelve", "number"), AnswerContract(type="number", gold="12")),
        (made("May 1453", "date"), AnswerContract(type="date", gold="May 1453")),
        (made("29 May\n1453", "date"), AnswerContract(type="date", gold="29 May 1453")),
        (made("a, b and c", "list"), AnswerContract(type="list", gold="a, b and c")),
        (made("tin, copper", "unordered_list"), AnswerContract(type="list", gold="tin, copper", ordered=False)),
        (made(r"\frac{1}{2}", "expression"), AnswerContract(type="expression", gold=r"\frac{1}{2}")),
        (made("New  York", "text", aliases=("NYC",)), AnswerContract(type="text", gold="New York", aliases=("NYC",))),
    ],
    ids=["unit read", "unit told", "magnitude", "a noun that is counted", "minus sign", "fraction", "percentage", "word", "month", "wrapped", "list", "any order", "expression", "aliases"],
)  # fmt: skip
def test_contracts(generated, contract):
    assert contract_of(generated) == contract
    assert grade(contract, generated.answer).verdict == "correct"


@pytest.mark.parametrize(
    ("generated", "reason"),
    [
        (made("Yes.", "text"), "yes_no_answer"), (made("no", "expression"), "yes_no_answer"), (made("ÉVET".replace("É", "E"), "text"), "yes_no_answer"),
        (made("Да", "text"), "yes_no_answer"), (made("はい", "text"), "yes_no_answer"), (made("„Nein“", "text"), "yes_no_answer"),
        (made("one two three four five six seven eight nine ten eleven twelve thirteen", "text"), "answer_too_long"), (made("x" * 161, "text"), "answer_too_long"),
        (made("about a dozen or so", "number"), "no_number"), (made("10-12", "number"), "no_number"), (made("less than 5", "number"), "no_number"),
        (made("5 km", "number", unit="kg"), "unit_contradicts"),
        (made("03/04/1939", "date"), "no_date"), (made("in spring", "date"), "no_date"), (made("31 June 1939", "date"), "no_date"),
        (made("alone", "list"), "no_list"), (made(", ".join("abcdefghijklmn"), "list"), "no_list"),
        (made(r"\int_0^1 x dx", "expression"), "no_expression"),
        (made("Answer: 5 or Answer: 6", "text"), "contract_rejects_answer"), (made("...", "expression"), "no_expression"),
    ],
    ids=["yes", "no", "evet", "da", "hai", "nein", "a sentence", "long", "vague", "range", "bound", "another unit", "day or month", "no day", "not in the calendar", "one item", "many items", "an integral", "a marker", "dots"],
)  # fmt: skip
def test_refused(generated, reason):
    with pytest.raises(ContractRefusedError) as error:
        contract_of(generated)
    assert error.value.reason == reason


@pytest.mark.parametrize("answer", [r"\int_0^1 x dx", r"\sum_{i=1}^n i", "F = G m_1 m_2 / r^2", r"x \in A", "\u0660^ß"])
@pytest.mark.parametrize("kind", ["expression", "list"])
def test_no_other_process_decides(monkeypatch, answer, kind):
    """math-verify may answer otherwise under load; the chain is a function of the replies alone."""
    monkeypatch.setattr("udfs.grading.pool.ask", lambda *_: pytest.fail("asked"))
    with pytest.raises(ContractRefusedError, match=f"no_{kind}"):
        contract_of(made(answer if kind == "expression" else f"{answer}, {answer}", kind))


def test_every_example_of_the_prompt_passes_the_checks_that_it_shows():
    assert set(fewshots()) >= set(DOMAINS)
    for domain, examples in fewshots().items():
        assert len(examples) >= 2, domain
        for example in examples:
            reply = read_generated(example.reply, example.passage)
            assert reply is not None
            proof = prove(reply, Passage(example.passage))
            assert given_away(proof.contract, reply.answer, reply.question) is None
            assert proof.computed is (reply.computation is not None)


def test_which_examples_are_shown_follows_from_the_document():
    shown = {shown_fewshots("history", f"d{i}", 2) for i in range(40)}
    assert len(shown) == 2  # two examples, in either order
    assert shown_fewshots("history", "d1", 2) == shown_fewshots("history", "d1", 2)
    assert shown_fewshots("history", "d1", 9).count("Example ") == len(fewshots()["history"])
    assert shown_fewshots("history", "d1", 0) == ""
    assert shown_fewshots("alchemy", "d1", 2) == shown_fewshots("other", "d1", 2)
