"""Signature lines of documentation pages: ``class pkg.Name(a, b='x', *, c=1) -> T``, with offsets."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A longer parameter list is not read.
MAX_SIGNATURE = 3000
#: Parameters of a signature that are looked at.
MAX_PARAMETERS = 100
_HEAD = re.compile(
    r"(?:\.\. (?:py:)?(?:function|method|class|classmethod|staticmethod|exception)::[ ]+)?"
    r"(?P<kind>(?:class|async|classmethod|staticmethod|exception|function|method|static)[ ]+)?"
    r"(?P<name>[A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){0,9})(?P<open>\()?"
)
_PARAMETER = re.compile(r"\s*(?P<name>\*{0,2}[A-Za-z_]\w{0,80})\s*(?::[^=]{1,200}?)?(?:\s?=\s?(?P<default>[^\s].{0,200}))?\s*", re.DOTALL)
_CLOSERS = {")": "(", "]": "[", "}": "{"}
_TAIL = re.compile(r"(?:[ ]?->[^\n]{1,200})?[ \t]*(?:\n|$)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter as written; ``default`` are offsets of its default, None where it has none."""

    name: str
    default: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Signature:
    """A definition line: offsets of the whole and of its dotted name."""

    start: int
    end: int
    name: str
    name_start: int
    is_class: bool
    parameters: tuple[Parameter, ...]
    called: bool
    marked: bool

    @property
    def last(self) -> str:
        """The name behind its last dot."""
        return self.name.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """The dotted name before its last dot, empty where there is none."""
        return self.name.rpartition(".")[0]


def split_arguments(text: str, start: int, limit: int) -> tuple[list[tuple[int, int]], int] | None:
    """Offsets of the arguments of a call whose opening parenthesis lies just before ``start``, and of its closing one.

    One pass; brackets nest, quotes hide. None where it does not close before ``limit`` or brackets do not match.
    """
    stack, quote, position, begin = ["("], "", start, start
    pieces: list[tuple[int, int]] = []
    while position < limit:
        char = text[position]
        if quote:
            if char == "\\":
                position += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            stack.append(char)
        elif char in ")]}":
            if stack.pop() != _CLOSERS[char]:
                return None
            if not stack:
                if text[begin:position].strip():
                    pieces.append((begin, position))
                return pieces, position
        elif char == "," and len(stack) == 1:
            pieces.append((begin, position))
            begin = position + 1
        position += 1
    return None


def _parameters(text: str, pieces: list[tuple[int, int]]) -> tuple[Parameter, ...] | None:
    """Parameters, or None where one of them is no parameter (the line is a call, not a definition)."""
    found: list[Parameter] = []
    for start, end in pieces[:MAX_PARAMETERS]:
        if text[start:end].strip() in ("*", "/"):
            continue
        match = _PARAMETER.fullmatch(text, start, end)
        if match is None:
            return None
        default = None
        if match["default"] is not None:
            first = match.start("default")
            default = (first, first + len(match["default"].rstrip()))
        found.append(Parameter(match["name"], default))
    return tuple(found)


def signature_at(text: str, start: int, limit: int) -> Signature | None:
    """The signature that begins at ``start``, the first visible code point of a line, and closes before ``limit``; else None."""
    head = _HEAD.match(text, start)
    if head is None:
        return None
    kind = (head["kind"] or "").strip()
    name, name_start = head["name"], head.start("name")
    marked = bool(kind) or text.startswith("..", start)
    if head["open"] is None:
        if kind not in ("class", "exception") or _TAIL.match(text, head.end()) is None:
            return None
        return Signature(start, head.end(), name, name_start, is_class=True, parameters=(), called=False, marked=marked)
    found = split_arguments(text, head.end(), min(len(text), limit))
    if found is None:
        return None
    pieces, close = found
    tail = _TAIL.match(text, close + 1)
    parameters = _parameters(text, pieces)
    if tail is None or parameters is None:
        return None
    is_class = kind in ("class", "exception") or text.startswith((".. class", ".. py:class", ".. exception"), start)
    return Signature(start, close + 1, name, name_start, is_class=is_class, parameters=parameters, called=True, marked=marked)
