"""Which parts of a program a function can come to: itself and what it names, and so on; not the examples that stand below it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from udfs.coding.syntax import bound_names, loaded_names


def reachable(tree: ast.Module, entry_point: str | None) -> ast.Module:
    """The top-level statements that bind a name which the entry point uses, or a name which those use.

    Args:
        tree: of the program.
        entry_point: the function; None for a program that is run as a whole, all of which is reached.
    """
    if entry_point is None:
        return tree
    binding: defaultdict[str, list[ast.stmt]] = defaultdict(list)
    for statement in tree.body:
        for name in _changes(statement):
            binding[name].append(statement)
    seen, waiting = {entry_point}, [entry_point]
    kept: set[ast.stmt] = set()
    while waiting:
        for statement in binding[waiting.pop()]:
            if statement not in kept:
                kept.add(statement)
                new = _uses(statement) - seen
                seen |= new
                waiting += sorted(new)
    return ast.Module(body=[statement for statement in tree.body if statement in kept], type_ignores=[])


def _uses(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement reads from outside itself; what a function binds by itself is its own, unless it says ``global``."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return loaded_names(statement)
    outer = {name for node in ast.walk(statement) if isinstance(node, ast.Global) for name in node.names}
    return loaded_names(statement) - (bound_names(statement) - {statement.name} - outer)


def _changes(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds, or whose objects it changes: ``table[1] = 2``, ``table.update(...)``."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.If) and "__name__" in loaded_names(statement.test):
        return set()
    return bound_names(statement) | set(_changed(statement))


def _changed(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        root: ast.AST = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            root = node.func
        elif not (isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store)):
            continue
        while isinstance(root, ast.Subscript | ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name):
            yield root.id
