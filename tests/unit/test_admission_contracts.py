"""Contracts tried harder: near misses and rewritings of mathematics, paraphrases of every type, repairs, and error rates."""

from __future__ import annotations

import pytest

from schemas.contract import AnswerContract
from schemas.ids import text_hash
from udfs.admission.checks import Window, check_item
from udfs.admission.errors_report import Errors, lines
from udfs.admission.formulas import items_of, pieces_of, value_of
from udfs.admission.near_misses import near_misses
from udfs.admission.repair import try_and_repair
from udfs.admission.rewritings import paraphrases, rewritings
from udfs.admission.self_test import self_test
from udfs.grading import grade


def contract(kind, gold, **fields):
    return AnswerContract(type=kind, gold=gold, **fields)


# What is wrong with each: written out by hand from the gold.
MISSES = [
    (contract("expression", r"\frac{3}{4}"), {r"\frac{4}{3}", r"-\frac{3}{4}", "1", r"\frac{3}{5}"}),  # upside down, sign, 4/4, 3/5
    (contract("expression", "72"), {"73", "71", "27", "720", "7.2", "144", "-72"}),
    (contract("expression", "2.5", tolerance=0.1), {"2.7", "2.3", "25.0", "0.25", "5.0", "-2.5"}),
    (contract("expression", "x^2+1"), {"x^2-1", "x^{3}+1", "x^2+2", "-(x^2+1)"}),
    (contract("expression", r"\frac{a}{b}"), {r"\frac{b}{a}", r"-(\frac{a}{b})"}),
    (contract("expression", "(1,2)"), {"(2, 1)", "(2, 2)", "(1, 3)", "(2)", "(1, 2, 9973)"}),
    (contract("expression", "1,-2"), {"2, -2", "1, -1", "1"}),
    (contract("expression", r"\text{Evelyn}"), {"Eveyn"}),
    (contract("expression", "B"), {"C"}),
    (contract("expression", "[1,2)"), {"(1, 2)", "[1, 2]", "[0, 2)", "[1, 3)"}),
    (contract("expression", r"x \le 3"), {"x < 3", r"x \le 4"}),
    (contract("set", r"\{1,2,3\}"), {r"\{2, 3\}", r"\{1, 2\}", r"\{1, 2, 4\}", r"\{1, 2, 3, 9973\}"}),
    (contract("set", r"\{2,2,3\}"), {r"\{2, 2, 3, 9973\}"}),
    (contract("interval", "(1,2]"), {"[1, 2]", "(1, 2)", "(0, 2]", "(1, 3]"}),
    (contract("interval", r"(-\infty,3)\cup(5,\infty)"), {r"(-\infty, 3]\cup (5, \infty)", r"(-\infty, 3)\cup [5, \infty)", r"(-\infty, 3)"}),
    (contract("interval", r"(-\infty,\infty)"), {r"(0, \infty)"}),
    (contract("expression", r"x \in [-2,7]"), {"(-2, 7]", "[-2, 8]"}),
    (contract("expression", r"-\infty"), {r"\infty", "0"}),
    (contract("set", r"\emptyset"), {r"\{0\}"}),
    (contract("interval", "x>3"), {r"x\ge 3", "x < 3", "x>4"}),
    (contract("list", "Mars, Venus and Earth"), {"Venus, Mars, Earth", "Mars, Venus", "Venus, Earth", "Mars, Venus, Earth, something else"}),
    (contract("list", "1, 2, 2"), {"2, 1, 2", "1, 2", "1, 2, 3"}),
    (contract("list", "3, 1, 2", ordered=False), {"4, 1, 2", "3, 1", "3, 1, 2, 9973"}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "wrong"), MISSES, ids=lambda v: f"{v.type}-{v.gold}" if isinstance(v, AnswerContract) else "")
def test_near_misses_of_mathematics_are_made_and_refused(given, wrong):
    made = near_misses(given, limit=50)
    assert wrong <= set(made)
    trial = self_test(given, given.gold, limit=50)
    assert (trial.refused, trial.accepted, trial.n_near_misses) == (None, None, len(made))


# Alterations that change nothing and must not be tried: a repeated item of a set, both ways at one end, a full turn, a quotient that is 1.
@pytest.mark.parametrize(
    ("given", "harmless"),
    [
        (contract("set", r"\{2,2,3\}"), r"\{2, 3\}"),
        (contract("interval", r"(1,2)\cup[2,3)"), r"(1, 2]\cup [2, 3)"),
        (contract("expression", "(-1)^{n+1}"), "(-1)^{n-1}"),
        (contract("expression", r"\frac{a}{b}=1"), r"\frac{b}{a}=1"),
        (contract("expression", r"\infty"), r"\infty+1"),
        (contract("expression", "3+0i"), "3-0i"),
        (contract("expression", r"\frac{a-b}{b-a}"), r"\frac{b-a}{a-b}"),
        (contract("list", "3, 1, 2", ordered=False), "1, 3, 2"),
        (contract("number", "1.23", tolerance=0.1), "1.32"),
        (contract("text", "\u201eA Machine to End War\u201c"), "Machine to End War\u201c"),
    ],
    ids=str,
)
def test_what_is_as_right_as_the_gold_is_no_near_miss(given, harmless):
    assert harmless not in near_misses(given, limit=50)


RIGHT = [
    (contract("expression", r"\frac{3}{4}"), {r"\dfrac{3}{4}", r"\tfrac{3}{4}", "3/4", r"\frac{6}{8}", "0.75", r"\[\frac{3}{4}\]", r"\(\frac{3}{4}\)"}),
    (contract("expression", "(1,2)"), {r"\left(1,2\right)", "(1,2)."}),
    (contract("set", r"\{1,2,3\}"), {r"\{3, 2, 1\}", r"\{1, 2, 3, 1\}", r"\left\{1,2,3\right\}"}),
    (contract("interval", "(1,2]"), {r"1<x\le 2", r"\left(1,2\right]"}),
    (contract("interval", r"(-\infty,2]"), {r"x\le 2"}),
    (contract("list", "3, 1, 2", ordered=False), {"2, 1, 3", "1, 2, 3"}),
    (contract("number", "1234567"), {"1.234.567", "1 234 567", "1\u202f234\u202f567", "1'234'567", "about 1234567", "１２３４５６７"}),
    (contract("number", "-12"), {"\u221212", "-12.00"}),
    (contract("number", "12"), {"twelve", "The answer is 12."}),
    (contract("number", "0.75"), {"3/4", "0.750"}),
    (contract("number", "3/4"), {"The answer is 3/4.", "It is 3/4."}),
    (contract("number", "12,000", unit="km"), {"12000 kilometre", "12000 kilometer", "12 000"}),
    (contract("number", "50", unit="%"), {"0.5"}),
    (contract("date", "1939-09-03"), {"3rd September 1939", "the 3rd of September 1939", "Sep. 3, 1939", "Sunday, 3 September 1939", "1939/09/03"}),
    (contract("date", "2024-02-22"), {"22nd February 2024", "Thursday, 22 February 2024"}),
    (contract("date", "1911-11-11"), {"11th November 1911"}),
    (contract("date", "September 1939"), {"September, 1939", "in September 1939"}),
    (contract("date", "1939"), {"the year 1939", "AD 1939", "1939 CE"}),
    (contract("date", "44 BC"), {"44 BCE", "44 B.C."}),
    (contract("text", "Martha's Vineyard"), {"Martha\u2019s Vineyard", "It is Martha's Vineyard.", "Martha's\u00a0Vineyard"}),
    (contract("text", "Işıklar Köyü"), {"The answer is Işıklar Köyü."}),  # its capitals fold to other letters
    (contract("text", "Straße"), {"It is Straße."}),
    (contract("choice", "B", options=("Vitamin A", "Vitamin C")), {"B (Vitamin C)", "Option B", "B: Vitamin C", "The answer is B. Vitamin C", "b"}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "right"), RIGHT, ids=lambda v: f"{v.type}-{v.gold}" if isinstance(v, AnswerContract) else "")
def test_paraphrases_are_made_and_accepted(given, right):
    made = paraphrases(given)
    assert right <= set(made)
    refused = [text for text in (*rewritings(given), *made) if grade(given, text).verdict != "correct"]
    assert refused == []


def test_formulas_are_read_by_their_notation():
    assert [value_of(text) for text in ("1,234", "-3/4", r"\dfrac{6}{8}", "0.5", "x", "1/0", "1,23")] == [
        1234,
        -0.75,
        0.75,
        0.5,
        None,
        None,
        None,
    ]
    assert items_of("1,234", words=False) is None
    assert items_of("f(1,2), 3", words=False).items == ("f(1,2)", "3")
    assert items_of("Mars, Venus, and Earth", words=True).items == ("Mars", "Venus", "Earth")
    assert items_of(r"\{5\}", words=True).items == ("5",)
    assert [piece.bounded for piece in pieces_of(r"(-\infty, 3]\cup[5, 7)")] == [(False, True), (True, True)]
    assert pieces_of("x > 3") is None


def repaired(given, answer, **rest):
    tried = try_and_repair(given, answer, **rest)
    return tried.contract, tried.repaired, tried.left.sound


def test_a_contract_is_repaired_where_there_is_one_way_and_left_alone_elsewhere():
    doubtful = contract("text", "3 September 1939", aliases=("1939-09-03", "3-9-1939"))
    kept, changed, sound = repaired(doubtful, "3 September 1939", others=["3\u20139\u20131939"])
    assert (kept.aliases, changed, sound) == (("1939-09-03",), {"dropped_aliases": ["3-9-1939"]}, True)
    # an alias that its own grader cannot read takes the whole contract with it
    unread = contract("expression", "5", aliases=("\\frac{5}{", "5.0"))
    kept, changed, sound = repaired(unread, "5")
    assert (kept.aliases, changed, sound) == (("5.0",), {"dropped_aliases": ["\\frac{5}{"]}, True)
    # a tolerance that takes the double: half of the last place that the gold has
    wide = contract("number", "12.5", tolerance=20)
    assert repaired(wide, "12.5") == (contract("number", "12.5", tolerance=0.05), {"tolerance": [20.0, 0.05]}, True)
    # the gold itself is what a distractor says: no way, or two
    torn = contract("text", "signature")
    assert repaired(torn, "signature", others=["\uff53ignature"]) == (torn, {}, False)
    sound = contract("number", "12", tolerance=1)
    assert repaired(sound, "12") == (sound, {}, True)


def test_a_repaired_contract_is_what_the_task_gets_and_the_probe_says_so():
    text = "The width is 12.5 in all."
    item = {
        "qa_id": "q1", "doc_id": "d1", "engine": "extractive", "question": "How wide is it?", "subject": "", "answer": "12.5", "distractors": "[]",
        "contract": contract("number", "12.5", tolerance=20).canonical(), "evidence_start": 0, "evidence_end": len(text), "evidence_hash": text_hash(text),
        "answer_start": 13, "answer_end": 17, "filter_reason": None,
    }  # fmt: skip
    got = check_item(item, Window(text, 0, len(text)), max_near_misses=8)
    assert got.reason is None
    assert AnswerContract.model_validate_json(got.contract).tolerance == 0.05
    assert got.probes["contract"]["repaired"] == {"tolerance": [20.0, 0.05]}
    assert got.probes["contract"]["near_misses_accepted"] > 0  # as it was proposed


def test_all_errors_are_counted_and_a_gold_that_cannot_be_read_ends_the_trial():
    trial = self_test(contract("text", "spam", aliases=("eggs", "ham")), "spam", others=["\uff45ggs", "h\uff41m"])
    assert trial.n_accepted == 2
    trial = self_test(contract("number", "seven or so"), "seven or so")
    assert (trial.verdict, trial.n_right, trial.n_refused, trial.n_near_misses) == ("unparsable_gold", 1, 1, 0)


def test_error_rates_add_up_and_carry_wilson_intervals():
    both = Errors(90, 0, 40, 1) + Errors(10, 0, 60, 0)
    # 0 of 100: the upper end is z² / (n + z²) = 3.8415 / 103.8415; 1 of 100 as in the table of Brown, Cai and DasGupta (2001).
    assert both.false_reject == pytest.approx((0.0, 0.0, 3.841458820694124 / 103.841458820694124))
    assert both.false_accept == pytest.approx((0.01, 0.00177, 0.0545), abs=1e-4)
    assert Errors().false_accept is None
    said = lines({"number": both, "date": Errors()})
    assert [line.split()[0] for line in said] == ["type", "date", "number", "all"]
    assert said[1].split() == ["date", "0", "0", "-", "0", "0", "-"]


# Golds that once ended the trial with an error, and their like: whatever stands in a contract, its trial ends in figures.
@pytest.mark.parametrize(
    "gold",
    [
        r"b\dfrac{1/2}{3}",
        r"\{ \}",
        r"\left\{\right\}",
        "(,)",
        "[,",
        r"\frac{}{}",
        "1,,2",
        "\u0661/\u0662",
        r"\text{",
        "0/0",
        "--",
        r"\cup",
        pytest.param("x" * 3000, id="long"),
    ],
)
@pytest.mark.parametrize("kind", ["number", "date", "text", "choice", "expression", "set", "interval", "list"])
def test_hostile_golds_end_in_figures(kind, gold):
    trial = self_test(contract(kind, gold, options=("a", "b") if kind == "choice" else ()), gold, others=["x"])
    assert trial.n_right >= 1
    assert trial.n_refused <= trial.n_right
    assert trial.n_accepted <= trial.n_near_misses
