"""The program in a response."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from udfs.coding.syntax import MAX_CODE, parse, top_level_names

#: Code points of a response that are looked at, counted from its end; the rest is somebody's thinking.
MAX_RESPONSE = 1 << 20
#: Fenced blocks that are looked at, the last ones.
MAX_BLOCKS = 32

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([A-Za-z0-9_+.-]*)[^\n]*$", re.MULTILINE)
_PYTHON = frozenset({"", "python", "py", "python3", "py3", "ipython", "pycon"})


@dataclass(frozen=True, slots=True)
class Program:
    """What was taken for the candidate's program.

    Attributes:
        code: its text; None where the response holds none.
        prelude: what the prompt defines before it: imports and helpers.
        tree: of ``code``; None where it does not parse.
        fenced: whether it stood in a code block.
        flags: ``no_code``, ``overlong``, ``syntax_error``, ``entry_point_missing``, ``several_blocks``.
    """

    code: str | None
    prelude: str
    tree: ast.Module | None
    fenced: bool
    flags: tuple[str, ...]


def extract_program(response: str, prompt: str = "", entry_point: str | None = None) -> Program:
    """Take the program out of a response.

    The last Python block that defines the entry point, else the last one; without a block the whole response. What does not define the entry
    point is tried as the continuation of the prompt's unfinished function. Every step is linear in the response.

    Args:
        response: the candidate's whole response, or just its code.
        prompt: what it was asked; only a prompt that is Python code matters here.
        entry_point: function that must be there; None for a program that is run as a whole.
    """
    text = response[-MAX_RESPONSE:].replace("\r\n", "\n").replace("\x00", "")
    prelude, head = _prompt_parts(prompt, entry_point)
    blocks = _blocks(text)
    flags = ("several_blocks",) if len(blocks) > 1 else ()
    for code in reversed(blocks):
        found = _whole(code, head, entry_point)
        if found is not None:
            return Program(found[0], prelude, found[1], True, flags)
    if not blocks:
        found = _whole(text, head, entry_point)
        if found is not None:
            return Program(found[0], prelude, found[1], False, flags)
    return _unsound(blocks[-1] if blocks else text, prelude, flags, fenced=bool(blocks))


def _unsound(code: str, prelude: str, flags: tuple[str, ...], *, fenced: bool) -> Program:
    """What is there although it cannot be right."""
    if not code.strip() or (not fenced and _FENCE.search(code)):
        return Program(None, prelude, None, fenced, (*flags, "no_code"))
    if len(code) > MAX_CODE:
        return Program(None, prelude, None, fenced, (*flags, "overlong"))
    tree = parse(code)
    return Program(code, prelude, tree, fenced, (*flags, "syntax_error" if tree is None else "entry_point_missing"))


def _blocks(text: str) -> list[str]:
    """Texts of fenced blocks that may be Python, in order; a last block that was never closed counts."""
    found: list[str] = []
    start, mark, python = -1, "", False
    for fence in _FENCE.finditer(text):
        if start < 0:
            start, mark, python = fence.end() + 1, fence[1], fence[2].lower() in _PYTHON
        elif fence[1][0] == mark[0] and len(fence[1]) >= len(mark) and not fence[2]:
            if python:
                found.append(text[start : fence.start()])
            start = -1
    if start >= 0 and python:
        found.append(text[start:])
    return [block for block in found if block.strip()][-MAX_BLOCKS:]


def _prompt_parts(prompt: str, entry_point: str | None) -> tuple[str, str]:
    """What a prompt of code defines before its last function, and all of it as the head of that function; empty for a prompt in words."""
    if entry_point is None or "def " not in prompt:
        return "", ""
    tree = parse(prompt)
    # A prompt may end in a signature with nothing below it.
    head = prompt if prompt.endswith("\n") else prompt + "\n"
    tree = tree or parse(head + "    pass\n")
    if tree is None:
        return "", ""
    last = next((n for n in reversed(tree.body) if isinstance(n, ast.FunctionDef) and n.name == entry_point), None)
    if last is None:
        return "", ""
    first = min([last.lineno, *(d.lineno for d in last.decorator_list)])
    return "".join(prompt.splitlines(keepends=True)[: first - 1]), head


def _whole(code: str, head: str, entry_point: str | None) -> tuple[str, ast.Module] | None:
    """The code itself where it is a whole program, or the prompt's function with the code as the rest of its body."""
    tree = parse(code)
    if tree is not None and (entry_point is None or entry_point in top_level_names(tree)):
        return code, tree
    if not head or len(code) > MAX_CODE:
        return None
    return _continued(code, head)


def _continued(code: str, head: str) -> tuple[str, ast.Module] | None:
    """The prompt's function, continued; what follows it may be words, so it is cut at the first line that cannot belong to it."""
    lines = code.strip("\n").splitlines(keepends=True)
    body = [number for number, line in enumerate(lines) if line.strip()]
    if not body or not lines[body[0]][0].isspace():
        return None
    end = next((number for number in body if not lines[number][0].isspace()), len(lines))
    for stop in (len(lines), end):
        whole = head + "".join(lines[:stop])
        tree = parse(whole)
        if tree is not None:
            return whole, tree
    return None
