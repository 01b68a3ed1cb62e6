"""The public tests of a coding task as statements that stand alone: all that an agent may see of them.

Hidden tests hide in more places than their own lines: in data that public and hidden tests share, in helpers that know the answer, in a setup
that imports a reference. So a public test is its own asserting statement and nothing else, beside it only imports of names that it uses and
what the prompt itself defines. A public test that needs more is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from schemas.code import BrokenTestsError, CodeContract, CodeTests, NoTestsError, read_python
from udfs.coding.grading import count_tests, stored
from udfs.coding.response import extract_program
from udfs.coding.syntax import bound_names, is_builtin, is_standard_module, loaded_names, parse, top_level_names
from udfs.coding.units import units_of

#: Spelling of a value as JSON knows it: where a tuple may stand for a list.
_AS_JSON = "json.loads(json.dumps({}))"
#: Tests that are shown at most, as the setting of an environment bounds them.
MOST_TESTS = 200


@dataclass(frozen=True, slots=True)
class PublicTests:
    """What may be shown.

    Attributes:
        entry_point: the function that is asked for; None for a program that is run as a whole.
        setup: what runs before a program: the prompt's own helpers, and the imports that the tests use.
        tests: asserting statements, each a test of its own.
        texts: of kind ``stdin``: what is read and what must be printed.
        left_out: public tests that cannot stand alone, or are more than an environment takes.
    """

    entry_point: str | None
    setup: str
    tests: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    left_out: int


def public_tests(contract: str) -> PublicTests | None:
    """The public tests of a contract; None where it is no contract of code, or a broken one.

    Args:
        contract: canonical JSON.
    """
    try:
        held = CodeContract.load(contract)
        count_tests(held.tests)
    except (NoTestsError, BrokenTestsError, ValidationError):
        return None
    tests = held.tests
    if tests.kind == "stdin":
        return PublicTests(
            None, "", (), tuple(stored(tests)[k] for k in sorted(tests.public)[:MOST_TESTS]), max(0, len(tests.public) - MOST_TESTS)
        )
    entry = tests.entry_point or (units_of(tests).entry if tests.kind == "assert" else None)
    prelude = extract_program("", held.prompt, entry).prelude
    helpers = parse(prelude)
    known = top_level_names(helpers) if helpers is not None else set()
    imports = _imports(tests)
    shown: list[str] = []
    used: dict[str, None] = {}
    for text in _statements(tests, entry):
        tree = read_python(text)
        free = loaded_names(tree) - bound_names(tree) - known - {entry}
        wanted = {name for name in free if not is_builtin(name)}
        if wanted <= imports.keys() and len(shown) < MOST_TESTS:
            shown.append(text)
            used |= dict.fromkeys(imports[name] for name in sorted(wanted))
    setup = "\n".join(part for part in (prelude.rstrip("\n"), *used) if part)
    return PublicTests(entry, setup, tuple(shown), (), len(tests.public) - len(shown))


def _statements(tests: CodeTests, entry: str | None) -> Iterator[str]:
    """The asserting statement of every public test, in order."""
    if tests.kind == "call":
        for index in sorted(tests.public):
            yield _call(tests, entry or "", *stored(tests)[index])
        return
    units = units_of(tests)
    for index in sorted(tests.public):
        statement = units.trees[index].body[-1]
        renamed = _Renamed(units.alias, entry).visit(read_python(ast.unparse(statement)))
        yield ast.unparse(renamed)


def _call(tests: CodeTests, entry: str, arguments: list[Any], answer: Any) -> str:
    """A stored test as a statement, as strict as grading is: within the tolerance, and with tuples for lists where those may stand."""
    called = f"{entry}({', '.join(map(repr, arguments))})"
    if tests.tolerance and isinstance(answer, float):
        return f"assert abs({called} - {answer!r}) <= {tests.tolerance!r} * max(1.0, abs({answer!r}))"
    if tests.tuple_as_list and isinstance(answer, list | dict):
        called = _AS_JSON.format(called)
    return f"assert {called} == {answer!r}"


def _imports(tests: CodeTests) -> dict[str, str]:
    """Name -> the import that binds it, of those at the top of setup and tests, and of modules that tests use without importing them."""
    found = {"json": "import json"}
    trees = [read_python(tests.setup), read_python(tests.code or "")]
    checks = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    for body in (*(tree.body for tree in trees), *(check.body for check in checks)):
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                found |= {(alias.asname or alias.name).split(".")[0]: ast.unparse(node) for alias in node.names}
    if tests.kind == "assert":
        found |= {name: f"import {name}" for name in units_of(tests).modules if is_standard_module(name) and name not in found}
    return found


class _Renamed(ast.NodeTransformer):
    """``candidate(1)`` of ``check(candidate)`` becomes a call of the function itself."""

    def __init__(self, alias: str | None, entry: str | None) -> None:
        self._alias, self._entry = alias, entry

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if self._alias is not None and self._entry is not None and node.id == self._alias:
            return ast.copy_location(ast.Name(self._entry, node.ctx), node)
        return node
