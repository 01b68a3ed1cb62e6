"""Rows of public data sets as code contracts."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schemas.code import BrokenTestsError, CodeContract
from udfs.coding.syntax import is_builtin, parse


def from_humaneval(row: Mapping[str, Any]) -> CodeContract:
    """HumanEval: ``prompt`` (a function begun), ``test`` (a function ``check``), ``entry_point``. All tests are hidden.

    What the prompt defines before the function (a helper to decode with, say) is there for the tests as well.
    """
    tests = {"kind": "assert", "entry_point": _text(row, "entry_point"), "code": _text(row, "test")}
    return CodeContract.of({"tests": tests, "prompt": _text(row, "prompt")})


def from_mbpp(row: Mapping[str, Any], *, public: int = 1) -> CodeContract:
    """MBPP, whole or sanitised: ``text`` or ``prompt``, ``test_list``, ``challenge_test_list``, ``test_setup_code`` or ``test_imports``, ``code``.

    Args:
        row: the row.
        public: how many of ``test_list``, from the first, the prompt shows; without one nobody can know the function's name.
    """
    asserts = [*_texts(row, "test_list"), *_texts(row, "challenge_test_list")]
    setup = "\n".join([*_texts(row, "test_imports"), str(row.get("test_setup_code") or "")])
    shown = asserts[: min(public, len(_texts(row, "test_list")))]
    words = str(row.get("text") or row.get("prompt") or "")
    tests = {
        "kind": "assert",
        "entry_point": entry_point_of(asserts, str(row.get("code") or "")),
        "setup": _unix(setup).strip(),
        "code": "\n".join(map(_unix, asserts)),
        "public": list(range(len(shown))),
    }
    return CodeContract.of({"tests": tests, "prompt": "\n".join([words, *map(_unix, shown)])})


def from_stdin(
    inputs: Sequence[str], outputs: Sequence[str], *, prompt: str = "", public: Iterable[int] = (), **limits: Any
) -> CodeContract:
    """Competition tasks: what is read and what must be printed, pair by pair."""
    tests = {"kind": "stdin", "inputs": list(inputs), "outputs": list(outputs), "public": list(public)}
    return CodeContract.of({"tests": tests, "prompt": prompt, "limits": limits})


def from_calls(
    entry_point: str,
    inputs: Sequence[Sequence[Any]],
    outputs: Sequence[Any],
    *,
    prompt: str = "",
    public: Iterable[int] = (),
    json_values: bool = False,
    tolerance: float = 0.0,
    **limits: Any,
) -> CodeContract:
    """Arguments and answers as Python values.

    Args:
        entry_point: the function.
        inputs: a list of arguments each.
        outputs: an answer each.
        prompt: what the candidate is asked.
        public: tests that the candidate may see.
        json_values: the values come from JSON, which has no tuples: a tuple may stand for a list.
        tolerance: of floats.
        limits: see ``CodeLimits``.

    Raises:
        BrokenTestsError: a value is no JSON, or no Python literal.
    """
    try:
        spelt = [[json.dumps(v, allow_nan=True) if json_values else _literal(v) for v in values] for values in (map(list, inputs), outputs)]
    except (TypeError, ValueError, SyntaxError) as error:
        raise BrokenTestsError(f"tests of {entry_point}: a value is no {'JSON' if json_values else 'Python literal'}: {error}") from error
    tests = {
        "kind": "call", "entry_point": entry_point, "inputs": spelt[0], "outputs": spelt[1], "public": list(public),
        "encoding": "json" if json_values else "literal", "tolerance": tolerance, "tuple_as_list": json_values,
    }  # fmt: skip
    return CodeContract.of({"tests": tests, "prompt": prompt, "limits": limits})


def entry_point_of(asserts: Sequence[str], reference: str = "") -> str | None:
    """The function that a list of asserts is about; None where there is none.

    Of the names that they call, in order, the first that the reference defines as a function, else the first that is no builtin.
    """
    called: list[str] = []
    for text in asserts:
        tree = parse(text)
        # ast.walk goes level by level, so an outer call comes before those among its arguments.
        called += [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)] if tree else []
    tree = parse(_unix(reference))
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)} if tree else set()
    return next((name for name in called if name in defined), next((name for name in called if not is_builtin(name)), None))


def _literal(value: Any) -> str:
    """Python text that ``ast.literal_eval`` reads as this value."""
    text = repr(value)
    if ast.literal_eval(text) != value:
        raise ValueError(text[:80])
    return text


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise BrokenTestsError(f"row {row.get('task_id', '?')}: field {name!r} is missing or no text.")
    return value


def _texts(row: Mapping[str, Any], name: str) -> list[str]:
    value = row.get(name) or []
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise BrokenTestsError(f"row {row.get('task_id', '?')}: field {name!r} is no list of texts.")
    return list(value)
