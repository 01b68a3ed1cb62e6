"""Coding tasks: HumanEval and MBPP, each with its reference program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from schemas.code import BrokenTestsError, CodeContract, NoTestsError
from udfs.coding.adapters import from_humaneval, from_mbpp
from udfs.sources.item import SourceItem, needed, texts_of, wanted


def humaneval(record: Mapping[str, Any]) -> SourceItem:
    """HumanEval (and HumanEval+): ``prompt``, ``test``, ``entry_point``, ``canonical_solution``."""
    prompt, tests = needed(record, "prompt"), needed(record, "test")
    return _item("code_completion", record, prompt, needed(record, "canonical_solution"), tests, from_humaneval)


def mbpp(record: Mapping[str, Any]) -> SourceItem:
    """MBPP, whole or sanitised: ``text`` or ``prompt``, ``code``, ``test_list``, ``test_setup_code`` or ``test_imports``.

    The first assert is shown: without one nobody can know the function's name.
    """
    words, tests = needed(record, "text", "prompt"), texts_of(record.get("test_list") or (), "test_list")
    return _item("code_function", record, words, needed(record, "code"), "\n".join(tests), from_mbpp)


def _item(
    kind: str, record: Mapping[str, Any], asked: str, reference: str, tests: str, contract_of: Callable[[Mapping[str, Any]], CodeContract]
) -> SourceItem:  # fmt: skip
    ident = wanted(record, "task_id", "id")
    try:
        contract = contract_of(record)
    except (NoTestsError, BrokenTestsError, ValidationError) as error:
        refused = "no_tests" if isinstance(error, NoTestsError) else "broken_tests"
        return SourceItem(kind, asked, reference, refused=refused, tests=tests, domain="programming", ident=ident)
    return SourceItem(
        kind, contract.prompt, reference, contract, subject=contract.tests.entry_point or "", domain="programming", stage=3, tests=tests, asked=asked,
        ident=ident,
    )  # fmt: skip
