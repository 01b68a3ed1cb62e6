"""Failures and statuses of deliveries, as a matrix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemas.handoff import FAILURE_CLASSES
from udfs.trajectories.delivery import DELIVERY_FAILURES, Delivery, failure_of, losses, status_of

SOUND = Delivery(
    known_prompt=True,
    planned_samples=8,
    sample_index=7,
    repeat=0,
    failure_class=None,
    has_response=True,
    tokens=3,
    logprobs=3,
    tokens_valid=True,
    logprobs_valid=True,
)


@pytest.mark.parametrize(
    ("change", "failure"),
    [
        ({}, None),
        ({"tokens": None, "logprobs": None}, None),  # a text dump is usable, only lossy
        ({"logprobs": None}, None),
        ({"tokens": 0, "logprobs": 0}, None),
        ({"known_prompt": False}, "unknown_prompt"),
        ({"planned_samples": None}, "not_planned"),
        ({"repeat": 1}, "duplicate_sample"),
        ({"sample_index": 8}, "sample_out_of_range"),
        ({"sample_index": -1}, "sample_out_of_range"),
        ({"has_response": False}, "no_response"),
        ({"tokens_valid": False}, "bad_tokens"),
        ({"logprobs": 2}, "bad_lengths"),
        ({"tokens": None}, "bad_lengths"),  # log-probabilities of nothing
        ({"logprobs_valid": False}, "bad_logprobs"),
        ({"failure_class": "engine_dead", "has_response": False, "planned_samples": None}, "engine_dead"),  # the worker's word first
    ],
)
def test_failures(change, failure):
    assert failure_of(replace(SOUND, **change)) == failure
    assert failure is None or failure in (*DELIVERY_FAILURES, *FAILURE_CLASSES)


@pytest.mark.parametrize(
    ("failure", "finish", "status"),
    [
        (None, "stop", "completed"),
        (None, "tool_calls", "completed"),
        (None, "length", "truncated"),
        (None, "abort", "aborted"),
        (None, "error", "failed"),
        (None, "a word of a later engine", "error"),
        ("engine_hang", "stop", "timeout"),
        ("oom", "error", "failed"),
        ("truncated", "length", "truncated"),
        ("aborted", "abort", "aborted"),
        ("not_planned", "stop", "error"),
        ("duplicate_sample", "stop", "error"),
        ("malformed", "stop", "error"),
    ],
)
def test_statuses(failure, finish, status):
    assert status_of(failure, finish) == status


def test_every_failure_class_has_a_status_of_the_table():
    assert {status_of(f, "stop") for f in (*FAILURE_CLASSES, *DELIVERY_FAILURES)} <= {"truncated", "aborted", "failed", "timeout", "error"}


def test_losses():
    assert losses(prompt_tokens=True, response_tokens=True, logprobs=True, raw_logprobs=False) == []
    assert losses(prompt_tokens=False, response_tokens=False, logprobs=False, raw_logprobs=True) == [
        "no_logprobs",
        "no_prompt_token_ids",
        "no_token_ids",
    ]
    assert losses(prompt_tokens=True, response_tokens=True, logprobs=True, raw_logprobs=True) == ["raw_logprobs"]
