"""GSM8K, MATH-500, HumanEval, MBPP as they lie beside the checkout: every item becomes a candidate, and admission's row checks reject what they must."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.config import load_config
from tests.coding_tasks import sandbox_or_skip
from udfs.admission.checks import Window, check_item
from udfs.sources.adapters import adapter_named
from udfs.sources.read import read_records
from udfs.sources.rows import Origin, rows_of_records

pytestmark = pytest.mark.shared

FILES = {
    "gsm8k": ("gsm8k/test.jsonl", 800), "math": ("math500/problems.jsonl", 300), "humaneval": ("humaneval/HumanEval.jsonl", 100), "mbpp": ("mbpp/mbpp.jsonl", 600),
}  # fmt: skip
#: Its setup builds a tree of ``Node``, a class that neither it nor its tests define.
BROKEN = "mbpp:367"


def candidates(shared_data, name):
    """uri -> (candidate, its document's text); nothing is refused."""
    file, count = FILES[name]
    made_by, conf = adapter_named(name), load_config().ingest
    origin = Origin("i" * 32, name, "eval", None, "adapter", made_by.label)
    path = shared_data / file
    rows = rows_of_records(read_records(path, conf.max_document_bytes), path.name, made_by, origin, conf)
    assert (rows.refused, len(rows.candidates), len(rows.benchmark)) == ({}, count, count)
    assert {candidate["filter_reason"] for candidate in rows.candidates.values()} == {None}
    return {item["uri"]: (candidate, item["text"]) for item, candidate in zip(rows.items, rows.candidates.values(), strict=True)}


def reasons(items):
    """Reason of the first failing row check by address; items that pass have none."""

    def of(entry):
        uri, (candidate, text) = entry
        return uri, check_item(candidate, Window(text, 0, len(text)), max_near_misses=8).reason

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return {uri: reason for uri, reason in pool.map(of, items.items()) if reason is not None}


@pytest.mark.parametrize("name", ["gsm8k", "math"])
def test_every_problem_passes_its_own_contract(shared_data, name):
    assert reasons(candidates(shared_data, name)) == {}


@pytest.mark.parametrize("step", [60, pytest.param(1, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_the_reference_of_every_program_passes_its_own_tests_but_for_the_one_that_cannot_run(shared_data, name, step):
    sandbox_or_skip()
    items = candidates(shared_data, name)
    some = {uri: item for at, (uri, item) in enumerate(items.items()) if at % step == 0 or uri == BROKEN}
    assert reasons(some) == ({BROKEN: "contract_rejects_gold"} if name == "mbpp" else {})


def test_one_question_is_asked_twice(shared_data):
    """MBPP 76 and 347 differ in their references and hidden tests alone; the second is a duplicate."""
    often = {
        name: [
            text for text, n in Counter(candidate["question"] for candidate, _ in candidates(shared_data, name).values()).items() if n > 1
        ]
        for name in FILES
    }
    assert {name: len(texts) for name, texts in often.items()} == {"gsm8k": 0, "math": 0, "humaneval": 0, "mbpp": 1}
    assert "squares in a rectangle" in often["mbpp"][0]
