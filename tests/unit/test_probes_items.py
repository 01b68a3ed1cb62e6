"""All probes on sound items of fifteen languages, and on what a generator spoils of them; floors on shared data where they are there."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from schemas.ids import text_hash, uniform_from
from tests.check_qa_items import items
from udfs.probes.check import Note, check_item
from udfs.probes.item import FLAGGING, PROBES, REJECTING, read_item
from udfs.probes.spoil import SPOILERS, TELLABLE, spoil
from udfs.verifiers.rows import RowError, Written

ITEMS = items()
XQUAD = Path(__file__).resolve().parents[3] / "shared" / "data" / "xquad"


def check(row, note=None):
    return check_item(read_item(row), note or Note())


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("row", ITEMS, ids=lambda row: row["id"])
def test_a_sound_item_is_accepted_in_every_language(row, named):
    checked = check(row if named else {name: value for name, value in row.items() if name != "language"})
    assert (checked.state, checked.reasons) == ("accepted", ())
    assert (checked.grounded, checked.self_contained, checked.probes["language"]) == (True, True, row["language"])
    assert checked.evidence == {
        "start": row["answer_start"], "end": row["answer_start"] + len(row["answer"]), "hash": text_hash(row["answer"]),
    }  # fmt: skip
    assert set(checked.probes) == set(PROBES)


@pytest.mark.parametrize("row", ITEMS, ids=lambda row: row["id"])
def test_without_an_offset_the_answer_is_found(row):
    checked = check({name: value for name, value in row.items() if name != "answer_start"})
    assert checked.state == "accepted"
    assert checked.evidence["start"] == row["answer_start"]


@pytest.mark.parametrize("kind", TELLABLE)
def test_every_spoiled_item_is_rejected(kind):
    made = [spoil(row, kind) for row in ITEMS]
    spoiled = [row for row in made if row is not None]
    assert len(spoiled) >= 8
    assert [row for row in spoiled if check(row).state != "rejected"] == []
    assert made == [spoil(row, kind) for row in ITEMS]  # the same from the same ids


def test_a_swapped_answer_is_grounded_and_another_one():
    swapped = [(row, made) for row in ITEMS if (made := spoil(row, "answer_swapped")) is not None]
    assert len(swapped) > 20
    for row, made in swapped:
        assert made["answer"] != row["answer"]
        assert check(made).grounded


@pytest.mark.parametrize(
    ("change", "state", "reasons"),
    [
        ({"answer_type": "number", "answer": "Ada Quill", "answer_start": 64}, "rejected", ("contract_unreadable",)),
        ({"answer_type": "date", "answer": "1874", "answer_start": 43}, "accepted", ()),
        ({"answer_type": "number", "answer": "three", "answer_start": 97}, "accepted", ()),
        ({"answer_type": "date", "answer": "Ada Quill", "answer_start": 64}, "flagged", ("contract_unread",)),
        ({"answer_type": "number", "answer": "Ada Quill", "answer_start": 64, "language": "sw"}, "flagged", ("contract_unread",)),
        ({"evidence_hash": text_hash("308")}, "accepted", ()),
        ({"evidence_hash": "0" * 32}, "rejected", ("evidence_hash_mismatch",)),
        ({"evidence_hash": "308"}, "rejected", ("evidence_hash_mismatch",)),
        ({"context_hash": text_hash(ITEMS[0]["context"])}, "accepted", ()),
        ({"context_hash": text_hash("another")}, "rejected", ("context_hash_mismatch",)),
        ({"answer_start": 9999}, "rejected", ("offset_outside",)),
        ({"answer_start": 0}, "rejected", ("offset_wrong",)),
        ({"answer": "309"}, "rejected", ("answer_not_in_context",)),
        ({"answer": "30\ud800"}, "rejected", ("answer_not_in_context",)),  # half a surrogate pair, as JSON may have it
        ({"question": "How many steps did he climb?"}, "flagged", ("not_self_contained",)),
        ({"question": "Are there 308 steps or 309?"}, "flagged", ("alternative_named",)),
        ({"answer": "yes", "answer_start": None, "question": "Does the lighthouse have 308 steps?"}, "flagged", ("yes_no",)),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_reasons_and_states(change, state, reasons):
    checked = check(ITEMS[0] | change)
    assert (checked.state, checked.reasons) == (state, reasons)


def test_what_the_rest_of_the_file_says():
    checked = check(ITEMS[0], Note(0.5, 4, duplicate_of=3, conflicting=True, siblings=("lighthouse at Port Marrow", "Ada Quill", "3")))
    assert (checked.state, checked.reasons) == ("flagged", ("conflicting_answers",))
    figures = [checked.probes[name] for name in ("base_rate", "same_type", "duplicate_of", "siblings", "siblings_told")]
    assert figures == [0.5, 4, 3, 3, 1]


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({}, ["missing_question", "missing_answer", "missing_context"]), ({"question": " ", "answer": "a", "context": "b"}, ["empty_question"]),
        ({"question": 1, "answer": "a", "context": "b"}, ["wrong_type_question"]), ({"question": "q", "answer": [], "context": "b"}, ["wrong_type_answer"]),
        ({"question": "q", "answer": "a", "context": "b", "answer_start": "1"}, ["wrong_type_answer_start"]),
        ({"question": "q", "answer": "a", "context": "b", "answer_start": 1.5}, ["wrong_type_answer_start"]),
        ({"question": "q", "answer": "a", "context": "b", "answer_start": Written("1e999")}, ["wrong_type_answer_start"]),
        ({"question": "q", "answer": "a", "context": "b", "answer_start": True, "language": 3}, ["wrong_type_answer_start", "wrong_type_language"]),
    ],
    ids=lambda value: json.dumps(value)[:60],
)  # fmt: skip
def test_what_cannot_be_read_is_named(fields, flags):
    with pytest.raises(RowError) as error:
        read_item(fields)
    assert sorted(error.value.flags) == sorted(flags)


def test_no_reason_both_rejects_and_flags():
    assert set(REJECTING).isdisjoint(FLAGGING)
    assert set(TELLABLE) < set(SPOILERS)


def human(language):
    """Every human question of one language, as a row."""
    for article in json.loads((XQUAD / f"xquad.{language}.json").read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                (answer,) = qa["answers"]
                yield {
                    "id": qa["id"], "question": qa["question"], "answer": answer["text"], "answer_start": answer["answer_start"],
                    "context": paragraph["context"], "language": language,
                }  # fmt: skip


LANGUAGES = sorted(path.name.split(".")[1] for path in XQUAD.glob("xquad.*.json"))


@pytest.mark.skipif(not LANGUAGES, reason="no shared data")
@pytest.mark.parametrize("language", LANGUAGES)
def test_human_questions_pass_and_spoiled_ones_do_not(language):
    """Floors: 97 % of the human questions are not rejected, 99 % of the spoiled ones of every kind are; a sample by id, so that it is quick."""
    rows = [row for row in human(language) if uniform_from(row["id"]) < 0.3]
    states = Counter(check(row).state for row in rows)
    assert states["rejected"] <= 0.03 * len(rows), states
    for kind in TELLABLE:
        sample = rows if kind.endswith(("digits", "word")) else rows[::4]
        made = [spoiled for row in sample if (spoiled := spoil(row, kind)) is not None]
        caught = Counter(check(row).state for row in made)
        assert caught["rejected"] >= 0.99 * len(made), (kind, caught)
