"""Golds of real competition problems: each equals itself however it is set, and no other of another value."""

from __future__ import annotations

import json
import re

import pytest

from schemas.contract import AnswerContract
from udfs.grading import grade, pool

pytestmark = pytest.mark.shared

#: What may be left out beside a value: the degree sign, the base, the name.
_BESIDE = re.compile(r"\^\\circ$|_\{?\d+\}?$|^[a-z]=")
_AROUND = re.compile(r"(?<=[\w)}])([-+=])(?=[\w\\(])")


@pytest.fixture
def golds(shared_data):
    path = shared_data / "math500" / "problems.jsonl"
    return [json.loads(line)["answer"] for line in path.read_text(encoding="utf-8").splitlines()]


def spaced(gold):
    return " " + _AROUND.sub(r" \1 ", gold).replace("\\frac{", "\\frac {").replace("\\sqrt{", "\\sqrt {") + "  "


def stretched(gold):
    """Brackets that grow, unless they do already."""
    if "\\left" in gold or "text" in gold or "{(" in gold:
        return gold.replace("\\left", "\\bigl").replace("\\right", "\\bigr")
    return re.sub(r"([)\]])", r"\\right\1", re.sub(r"([(\[])", r"\\left\1", gold))


REWRITINGS = {
    "spacing": spaced,
    "dfrac": lambda gold: re.sub(r"\\d?frac", r"\\dfrac", gold),
    "left and right": stretched,
    "trailing dot": lambda gold: gold + ".",
    "boxed": lambda gold: f"Adding all of this up gives $\\boxed{{{gold}}}$.",
}


@pytest.mark.parametrize("name", REWRITINGS)
def test_each_gold_equals_itself_rewritten(golds, name):
    refused = []
    for gold in golds:
        got = grade(AnswerContract(type="expression", gold=gold), REWRITINGS[name](gold))
        if got.reward != 1.0:
            refused.append((gold, REWRITINGS[name](gold), got))
    assert refused == []


def test_each_gold_differs_from_all_of_another_value_and_no_process_is_asked(golds, monkeypatch):
    asked = []
    monkeypatch.setattr(pool, "ask", lambda *pair: asked.append(pair) or pool.Opinion("unavailable"))
    distinct = list(dict.fromkeys(golds))
    accepted = set()
    for gold in distinct:
        contract = AnswerContract(type="expression", gold=gold)
        accepted |= {frozenset((gold, other)) for other in distinct if other != gold and grade(contract, other).reward != 0.0}
    # 180 degrees are pi radians.
    other_value = {pair for pair in accepted if len({_BESIDE.sub("", text) for text in pair}) > 1 and pair != {"\\pi", "180^\\circ"}}
    assert other_value == set()
    assert asked == []
