"""Reading Python without running it."""

from __future__ import annotations

import ast
import builtins
import sys

from schemas.code import read_python

#: Bytes of code that are looked at; a longer program is refused before it is parsed.
MAX_CODE = 64 << 10


def parse(source: str) -> ast.Module | None:
    """The syntax tree of a program, or None where it is none, is nested too deep for the parser or is longer than MAX_CODE."""
    if len(source) > MAX_CODE or len(source.encode("utf-8", "replace")) > MAX_CODE:
        return None
    try:
        return read_python(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def top_level_names(tree: ast.Module) -> set[str]:
    """Names that a module binds at its top level, as far as its text shows: also inside if, try, with and for."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif not isinstance(node, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def loaded_names(tree: ast.AST) -> set[str]:
    """Names that are read anywhere in a tree."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def bound_names(tree: ast.AST) -> set[str]:
    """Names that are bound anywhere in a tree, parameters of functions too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


def is_builtin(name: str) -> bool:
    """Whether Python itself gives this name."""
    return hasattr(builtins, name)


def is_standard_module(name: str) -> bool:
    """Whether the standard library has a module of this name."""
    return name in sys.stdlib_module_names
