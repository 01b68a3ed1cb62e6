"""Requests and replies of conversion: hashes, and rows for whatever a reply holds."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from schemas.silver.qa import QA
from udfs import extract
from udfs.replies.items import MALFORMED, REPEATED, qa_rows
from udfs.replies.request import extract_request, template_of

TEXT = (
    "pkg.f0\n\nFunction of module pkg.\n\npkg.f0(source, symbol='single')\n\nParameters:\n  source\n  symbol (default: 'single')\n\nDoes.\n"
)


def item(**change):
    found = next(i for i in extract.extract("d", "s", "u", "pkg.f0", TEXT, "{}", max_items=4) if i["answer"] == "'single'")
    return found | change


def reply(value):
    carried = {
        "ingest_id": "i",
        "doc_id": "d",
        "cluster_id": "d",
        "split": "train",
        "request_hash": "r",
        "engine": "extractive",
        "template": "t",
    }
    return carried | {"reply": value if value is None or isinstance(value, str) else json.dumps(value)}


def test_an_item_becomes_a_row_with_cluster_and_split_of_its_document():
    (row,) = qa_rows(reply([item()]))
    assert row["filter_reason"] is None
    assert (row["cluster_id"], row["split"], row["request_hash"], row["answer"]) == ("d", "train", "r", "'single'")
    assert TEXT[row["answer_start"] : row["answer_end"]] == "'single'"
    assert set(row) == set(QA.schema.names)


@pytest.mark.parametrize(
    "bad",
    [
        item(question=7), item(evidence_start=1.5), item(evidence_start=True), item(evidence_end=-1), item(answer_type="essay"), item(contract="{}"),
        item(contract="no json"), item(filter_reason=3), {k: v for k, v in item().items() if k != "pattern"}, "text", None, [1], 3.5,
    ],
)  # fmt: skip
def test_what_is_no_item_is_a_row_that_says_so(bad):
    rows = qa_rows(reply([item(), bad]))
    assert [row["filter_reason"] for row in rows] == [None, MALFORMED]
    pa.RecordBatch.from_pylist(rows, schema=QA.schema).validate(full=True)
    assert len({row["qa_id"] for row in rows}) == 2


@pytest.mark.parametrize("text", ["", "{}", "no json", "[NaN]", "[1", '"x"', "[" * 100000])
def test_a_reply_that_is_no_list_counts_as_one_malformed_item(text):
    (row,) = qa_rows(reply(text))
    assert row["filter_reason"] == MALFORMED
    assert row["question"] == text[:2000]


def test_a_repeated_item_is_a_row_of_its_own():
    rows = qa_rows(reply([item(), item(), item()]))
    assert [row["filter_reason"] for row in rows] == [None, REPEATED, REPEATED]
    assert len({row["qa_id"] for row in rows}) == 3


def test_a_reply_that_failed_has_no_items():
    assert qa_rows(reply(None)) == []
    assert qa_rows(reply([])) == []


def test_a_request_is_named_by_all_that_the_engine_is_shown_and_by_its_draw():
    base = {"ingest_id": "i", "doc_id": "d", "source": "s", "uri": "u", "title": None, "text": "t", "metadata": "{}", "earlier": []}
    changes = [{}, {"title": "x"}, {"text": "x"}, {"metadata": '{"a":1}'}, {"ingest_id": "other"}, {"earlier": [{"reply": "[]"}]}]
    asked = [extract_request("extractive", "1", template_of("extractive", "1", 12), base | change, 0) for change in changes]
    asked.append(extract_request("extractive", "1", template_of("extractive", "1", 12), base, 1))
    # Which ingest brought the document and what was answered before are no part of the request.
    assert asked[4] == asked[5] == asked[0]
    assert len(set(asked)) == 5
    assert extract_request("extractive", "1", template_of("extractive", "1", 13), base, 0) not in asked
