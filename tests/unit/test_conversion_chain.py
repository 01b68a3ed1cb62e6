"""Scripts of replies and what becomes of the document."""

from __future__ import annotations

import itertools
import json

import pytest

from schemas.contract import AnswerContract
from schemas.ids import text_hash
from tests.conversions import BRIDGES, checked, document, filtered, generated, identified, longer, opened, run, script, states
from udfs.conversion.ask import FAILED, UNASKED
from udfs.conversion.chain import convert
from udfs.conversion.recipe import Recipe
from udfs.replies.items import qa_rows

START = ["filter 0 passed", "identify 0 passed"]
TWICE = "no JSON"


def test_three_readers_pass_every_stage():
    conversion, asks = run(script(generated(), opened(), longer()))
    assert states(conversion) == START + [f"{stage} {i} passed" for stage in ("generate", "evidence", "check") for i in range(3)]
    assert [(a.stage, a.ordinal) for a in asks] == [
        ("filter", 0), ("identify", 0), ("generate", 0), ("generate", 1), ("generate", 2), ("check", 0), ("check", 1), ("check", 2),
    ]  # fmt: skip
    assert [item["filter_reason"] for item in conversion.items] == [None] * 3
    assert [item["kind"] for item in conversion.items] == ["generated_text", "generated_date", "computed_number"]
    assert {s.persona for s in conversion.states if s.ordinal == 1} == {"reader 1"}
    assert {s.domain for s in conversion.states if s.stage != "filter"} == {"technology"}
    assert [s.template for s in conversion.states][:3] == ["convert_filter@1", "convert_identify@1", "convert_generate@1"]
    assert all(s.template is None for s in conversion.states if s.stage == "evidence")


def test_a_row_is_what_silver_wants_and_its_offsets_are_of_the_document():
    conversion, _ = run(script(generated(), longer()))
    name, number = conversion.items
    assert BRIDGES[name["evidence_start"] : name["evidence_end"]] == "Its chief engineer was Joseph Strauss"
    assert BRIDGES[name["answer_start"] : name["answer_end"]] == name["answer"] == "Joseph Strauss"
    assert AnswerContract.model_validate_json(number["contract"]) == AnswerContract(type="number", gold="711", unit="metres")
    span = BRIDGES[number["evidence_start"] : number["evidence_end"]]
    assert span.startswith("has a central span")
    assert span.endswith("spans 1,280 metres")
    assert number["evidence_hash"] == text_hash(span)
    reply = dict.fromkeys(("ingest_id", "doc_id", "cluster_id", "split", "request_hash", "engine", "template"), "x")
    rows = qa_rows({**reply, "reply": json.dumps(list(conversion.items))})
    assert [row["kind"] for row in rows] == ["generated_text", "computed_number"]


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        pytest.param(script(filter=filtered(informative=False)), ["filter 0 rejected not_informative"], id="not informative"),
        pytest.param(script(filter=filtered(self_contained=False)), ["filter 0 rejected not_self_contained"], id="a fragment"),
        pytest.param(script(filter=filtered(extractable=False)), ["filter 0 rejected not_extractable"], id="nothing to ask"),
        pytest.param(script(filter=FAILED), ["filter 0 failed reply:none"], id="filter failed"),
        pytest.param(script(filter=UNASKED), ["filter 0 unasked budget"], id="filter unasked"),
        pytest.param(
            script(filter=TWICE) | {("filter", 0, 1): '{"qualified": "Y"}'}, ["filter 0 failed reply:malformed"], id="filter fails closed"
        ),
        pytest.param(script(filter=TWICE) | {("filter", 0, 1): UNASKED}, ["filter 0 unasked budget"], id="re-ask unasked"),
        pytest.param(script(filter=TWICE) | {("filter", 0, 1): FAILED}, ["filter 0 failed reply:none"], id="re-ask failed"),
        pytest.param(
            script(identify=identified("", "  ")), ["filter 0 passed", "identify 0 rejected no_persona"], id="nobody would ask"
        ),
        pytest.param(script(identify=FAILED), ["filter 0 passed", "identify 0 failed reply:none"], id="identify failed"),
        pytest.param(script(identify=UNASKED), ["filter 0 passed", "identify 0 unasked budget"], id="identify unasked"),
        pytest.param(
            script(generated(question="", answer="", evidence=[])), [*START, "generate 0 rejected declined"], id="declined"
        ),
        pytest.param(script(FAILED), [*START, "generate 0 failed reply:none"], id="generate failed"),
        pytest.param(script(UNASKED), [*START, "generate 0 unasked budget"], id="generate unasked"),
        pytest.param(
            script(TWICE) | {("generate", 0, 1): TWICE}, [*START, "generate 0 failed reply:malformed"], id="generate malformed twice"
        ),
        pytest.param(
            script(generated(evidence=["Its chief engineer was John Strauss"])),
            [*START, "generate 0 passed", "evidence 0 rejected quote_not_found"],
            id="an invented quote",
        ),
        pytest.param(
            script(generated(question="What did Joseph  Strauss, chief engineer, build?")),
            [*START, "generate 0 passed", "evidence 0 rejected answer_in_question"],
            id="the answer in the question",
        ),
        pytest.param(
            script(generated(), checks=(checked(grounded=False, answer_leaks=True),)),
            [*START, "generate 0 passed", "evidence 0 passed", "check 0 rejected not_grounded"],
            id="not grounded",
        ),
        pytest.param(
            script(generated(), checks=(checked(answer_leaks=True),)),
            [*START, "generate 0 passed", "evidence 0 passed", "check 0 rejected answer_leaks"],
            id="leaking",
        ),
        pytest.param(
            script(generated(), checks=(checked(self_contained=False),)),
            [*START, "generate 0 passed", "evidence 0 passed", "check 0 rejected not_self_contained"],
            id="question leans on its text",
        ),
        pytest.param(
            script(generated(), checks=(UNASKED,)),
            [*START, "generate 0 passed", "evidence 0 passed", "check 0 unasked budget"],
            id="check unasked",
        ),
    ],
)  # fmt: skip
def test_ends(replies, expected):
    conversion, _ = run(replies)
    assert states(conversion) == expected


def test_a_reply_that_cannot_be_read_is_asked_for_once_more():
    conversion, asks = run(script(generated(), TWICE, longer()) | {("generate", 1, 1): opened()})
    assert states(conversion)[2:5] == ["generate 0 passed", "generate 1 passed", "generate 2 passed"]
    again = [ask for ask in asks if ask.reask]
    assert [(ask.stage, ask.ordinal) for ask in again] == [("generate", 1)]
    first = next(ask for ask in asks if (ask.stage, ask.ordinal, ask.reask) == ("generate", 1, 0))
    assert first.messages() != again[0].messages()
    assert TWICE not in again[0].messages()[1]["content"]


def test_independent_calls_are_yielded_together():
    replies = script(generated(), opened(), longer())
    chain = convert(document(), Recipe())
    sizes = []
    asks = next(chain)
    for _ in range(3):
        sizes.append(len(asks))
        asks = chain.send([replies[ask.stage, ask.ordinal, ask.reask] for ask in asks])
    assert [*sizes, len(asks)] == [1, 1, 3, 3]


def test_another_number_of_replies_than_calls_is_refused():
    chain = convert(document(), Recipe())
    next(chain)
    with pytest.raises(ValueError, match="1 calls was sent 2 replies"):
        chain.send([filtered(), filtered()])


def test_the_checker_sees_all_that_would_count_as_right_and_nobody_s_reasons():
    """Aliases and unit are part of what it judges; quotes, computation and reader are not shown to it."""
    named = generated(aliases=["J. B. Strauss", "Joseph Strauss"])
    conversion, asks = run(script(named, longer(aliases=["712"])))
    shown = [ask.values["answer"].split("\n", 1)[1].rsplit("\n", 1)[0] for ask in asks if ask.stage == "check"]
    assert shown == ["Joseph Strauss\n(as right counts also: J. B. Strauss)", "711 metres"]
    assert json.loads(conversion.items[1]["contract"])["aliases"] == []
    assert all("1,991 - 1,280" not in ask.messages()[1]["content"] and "reader 1" not in ask.messages()[1]["content"] for ask in asks[-2:])


def test_an_unchecked_candidate_never_passes():
    for reply, reason in ((FAILED, "check_failed"), (UNASKED, "check_unasked"), (checked(grounded=False), "not_grounded")):
        conversion, _ = run(script(generated(), checks=(reply,)))
        assert [item["filter_reason"] for item in conversion.items] == [reason]


@pytest.mark.parametrize(
    ("second", "repeated"),
    [
        (generated(question="who was the Chief Engineer of the Golden Gate Bridge"), True),
        (generated(question="Of the Golden Gate Bridge, who was the chief engineer?"), True),
        (generated(question="Whom did San Francisco hire to build the Golden Gate Bridge?"), False),
        (opened(), False),
    ],
    ids=["same question", "same words, same answer", "another question", "another answer"],
)  # fmt: skip
def test_siblings_do_not_repeat_each_other(second, repeated):
    conversion, asks = run(script(generated(), second))
    assert ("evidence 1 rejected repeated_item" in states(conversion)) is repeated
    assert (conversion.items[1]["filter_reason"] == "repeated_item") is repeated
    assert sum(ask.stage == "check" for ask in asks) == 2 - repeated


def test_empty_and_short_documents_end_in_one_state():
    for text in ("", " ", "Menu"):
        conversion, asks = run(script(filter=filtered(informative=False)), document(text, title=None))
        assert states(conversion) == ["filter 0 rejected not_informative"]
        assert len(asks) == 1


@pytest.mark.parametrize(
    ("reply", "domain", "personas"),
    [
        (identified("a nurse, at night", "A  nurse, at night", "", "a cook"), "technology", ["a nurse, at night", "a cook"]),
        (identified("a", "b", "c", "d"), "technology", ["a", "b", "c"]),
        (identified("a", domain="Alchemy"), "other", ["a"]),
        (identified("a", domain=" History "), "history", ["a"]),
        (identified("two\nlines"), "technology", ["two lines"]),
    ],
    ids=["each once, commas kept", "three at most", "unknown domain", "case of the domain", "one line"],
)  # fmt: skip
def test_readers_and_domain(reply, domain, personas):
    declined = generated(question="", answer="", evidence=[])
    conversion, asks = run(script(*[declined] * len(personas), identify=reply))
    assert [ask.persona for ask in asks if ask.stage == "generate"] == personas
    assert {ask.domain for ask in asks if ask.stage == "generate"} == {domain}
    assert conversion.items == ()


_OUTCOMES = {
    "generate": [generated(), opened(), generated(question="", answer="", evidence=[]), generated(evidence=["not there"]), FAILED, UNASKED],
    "check": [checked(), checked(grounded=False), FAILED, UNASKED],
}


def test_states_add_up_and_nothing_depends_on_the_run():
    """Law 1: each persona's candidate ends in exactly one state a stage, and the stages after it are those that it reached."""
    for a, b, check in itertools.product(_OUTCOMES["generate"], _OUTCOMES["generate"], _OUTCOMES["check"]):
        replies = script(a, b, checks=(check, check))
        conversion, _ = run(replies)
        assert run(replies)[0] == conversion
        places = [(s.stage, s.ordinal) for s in conversion.states]
        assert len(set(places)) == len(places)
        passed = {(s.stage, s.ordinal) for s in conversion.states if s.state == "passed"}
        assert [place for place in places if place[0] == "generate"] == [("generate", 0), ("generate", 1)]
        for before, after in (("generate", "evidence"), ("evidence", "check")):
            assert {i for stage, i in places if stage == after} == {i for stage, i in passed if stage == before}
        assert len(conversion.items) == sum(stage == "generate" for stage, _ in passed)
        assert sum(item["filter_reason"] is None for item in conversion.items) == sum(stage == "check" for stage, _ in passed)
        assert sorted(s.item for s in conversion.states if s.stage == "evidence") == list(range(len(conversion.items)))
