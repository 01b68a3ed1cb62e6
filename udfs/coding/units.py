"""Tests as code, taken apart into single tests."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from schemas.code import BrokenTestsError, CodeTests, NoTestsError, read_python
from udfs.coding.syntax import bound_names, is_builtin, is_standard_module, loaded_names

#: The name under which the tests' sandbox offers its stricter ``==``.
EQUAL = "__verilake_equal__"


@dataclass(frozen=True, slots=True)
class Units:
    """Tests as code, ready to run one by one in one namespace.

    Attributes:
        sources: one text a test: what prepares it, then the statement that asserts.
        trees: the same before comparisons were rewritten, for those who look for answers in them.
        alias: the parameter of ``check`` that stands for the entry point; None where the tests call it by its name.
        wanted: names that the tests use and do not define: the candidate's, as far as it has them.
        modules: modules of the standard library that they use without importing them.
        entry: the function under test: the contract's, else the first of ``wanted`` that is called.
        shadows: names of builtins that are the candidate's: the entry point, or, where the tests call nothing but builtins, all that they call.
    """

    sources: tuple[str, ...]
    trees: tuple[ast.Module, ...]
    alias: str | None
    wanted: tuple[str, ...]
    modules: tuple[str, ...]
    entry: str | None
    shadows: tuple[str, ...]


@lru_cache(maxsize=64)
def units_of(tests: CodeTests) -> Units:
    """Take tests of kind ``assert`` apart.

    Every top-level statement that holds an assert about anything but a constant is one test, with the statements before it that hold none.
    The body of ``check(candidate)`` is treated likewise, so that a program that fails its first assert is still tried on the others.

    Raises:
        NoTestsError: nothing asserts anything.
        BrokenTestsError: ``check(candidate)`` without an entry point, or a literal too long to be written.
    """
    setup, tree = read_python(tests.setup), read_python(tests.code or "")
    body, alias, outside = list(tree.body), None, []
    check = next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == "check" and len(n.args.args) == 1), None)
    if check is not None:
        if tests.entry_point is None:
            raise BrokenTestsError("code contract (assert): the tests define check(candidate); entry_point must say what the candidate is.")
        alias = check.args.args[0].arg
        outside = [node for node in body if node is not check and not _calls_check(node)]
        body = check.body if _can_be_flattened(check) else [check, read_python(f"check({alias})").body[0]]
    groups = _groups([*outside, *body])
    if not groups:
        raise NoTestsError.from_kind(tests.kind, "code")
    trees = tuple(ast.Module(body=group, type_ignores=[]) for group in groups)
    loaded = set().union(*(loaded_names(t) for t in trees), loaded_names(setup))
    bound = set().union(*(bound_names(t) for t in trees), bound_names(setup), {alias} if alias else ())
    free = loaded - bound
    entry = {tests.entry_point} if tests.entry_point is not None else set()
    wanted = {n for n in free if not is_builtin(n)} | entry
    called = [name for tree in trees for name in _called(tree)]
    modules = {n for n in free if is_standard_module(n) and n not in called and n != tests.entry_point}
    shadows = entry or (set(called) & free if not wanted - modules else set())
    wanted |= shadows
    callers = (wanted | {alias or ""}) - modules
    return Units(
        tuple(_written(t, callers) for t in trees),
        trees,
        alias,
        tuple(sorted(wanted - modules)),
        tuple(sorted(modules)),
        tests.entry_point or next((name for name in called if name in wanted - modules), None),
        tuple(sorted(shadows)),
    )


def _called(tree: ast.AST) -> list[str]:
    """Names that are called, outer ones first: ``ast.walk`` goes level by level."""
    return [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]


def _written(tree: ast.Module, callers: set[str]) -> str:
    """The text of a test, its comparisons made strict."""
    try:
        copy = read_python(ast.unparse(tree))
        return ast.unparse(ast.fix_missing_locations(_Strict(callers).visit(copy)))
    except (ValueError, RecursionError) as error:  # an int of more than 4,300 digits, or hundreds of levels
        raise BrokenTestsError(f"code contract (assert): a test cannot be written down again: {str(error)[:200]}") from error


def _calls_check(node: ast.stmt) -> bool:
    """``check(candidate)`` at the top level, which some data sets append."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "check"
    )


def _can_be_flattened(check: ast.FunctionDef) -> bool:
    """Whether its statements mean the same at a module's top level."""
    return not any(isinstance(n, ast.Return | ast.Nonlocal | ast.Global | ast.Yield | ast.YieldFrom | ast.Await) for n in ast.walk(check))


def _asserts(node: ast.stmt) -> bool:
    """Whether a statement asserts anything but a constant, or calls a ``check`` that does; what merely defines a function does not."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    if _calls_check(node):
        return True
    return any(isinstance(n, ast.Assert) and any(not isinstance(m, ast.Constant) for m in ast.walk(n.test)) for n in ast.walk(node))


def _groups(body: list[ast.stmt]) -> list[list[ast.stmt]]:
    groups: list[list[ast.stmt]] = []
    current: list[ast.stmt] = []
    for node in body:
        current.append(node)
        if _asserts(node):
            groups.append(current)
            current = []
    return groups


class _Strict(ast.NodeTransformer):
    """``assert f(x) == y`` becomes ``assert equal(f(x), y)``, where one side alone asks the candidate."""

    def __init__(self, callers: set[str]) -> None:
        self.callers = callers

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            sides = [test.left, test.comparators[0]]
            asking = [self._asks(side) for side in sides]
            if asking[0] != asking[1]:
                ordered = sides if asking[0] else sides[::-1]
                node.test = ast.Call(ast.Name(EQUAL, ast.Load()), ordered, [])
        return node

    def _asks(self, node: ast.expr) -> bool:
        return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in self.callers for n in ast.walk(node))
