r"""The last ``\boxed{...}`` of a response; boxes with a comma, ``and`` or ``or`` between are one answer of several items."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Longest content of one box, most boxes side by side.
MAX_BOX = 8192
MAX_BOXES = 16

_MARK = "\\boxed"
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE = re.compile(r"\s{0,4}(-?[A-Za-z0-9.]{1,64})")
_BETWEEN = re.compile(r"[\s$]*[,;]?[\s$]*(?:and|or|\\text\s*\{\s*(?:and|or)\s*\})?[\s$]*\Z")
_JOINS = re.compile(r"[,;]|and|or")
_LONGEST_BETWEEN = 32


@dataclass(frozen=True, slots=True)
class Boxes:
    """Contents of the boxes that stand side by side at the end, where they begin and end, and whether an earlier box said otherwise."""

    contents: tuple[str, ...]
    start: int
    end: int
    others: bool


def _content(text: str, at: int) -> tuple[str, int] | None:
    """What the box whose mark begins at ``at`` holds, and where it ends; None where its braces do not close."""
    begin = at + len(_MARK)
    brace = begin
    while brace < len(text) and text[brace] == " " and brace < begin + 4:
        brace += 1
    if brace >= len(text) or text[brace] != "{":
        bare = _BARE.match(text, begin)
        return (bare.group(1), bare.end()) if bare else None
    depth = 0
    for found in _BRACE.finditer(text, brace, min(len(text), brace + MAX_BOX)):
        sign = found.group()
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if not depth:
                return text[brace + 1 : found.start()], found.end()
    return None


def last_boxes(text: str) -> Boxes | None:
    """The last box with those right before it; None where there is none or its braces do not close.

    Linear in the text: at most ``MAX_BOXES`` boxes are read, each of at most ``MAX_BOX`` code points.
    """
    at = text.rfind(_MARK)
    found = _content(text, at) if at >= 0 else None
    if found is None:
        return None
    contents, start, end = [found[0]], at, found[1]
    others = False
    for _ in range(MAX_BOXES):
        if (before := text.rfind(_MARK, 0, start)) < 0:
            break
        earlier = _content(text, before)
        if earlier is None or earlier[1] > start:  # not closed, or around the last one
            break
        same = earlier[0].strip() == contents[-1].strip()
        near = start - earlier[1] <= _LONGEST_BETWEEN and _BETWEEN.match(text, earlier[1], start)
        if same and near:  # said twice
            start = before
            continue
        if not near or not _JOINS.search(text, earlier[1], start):
            others = not same
            break
        contents.append(earlier[0])
        start = before
    return Boxes(tuple(reversed(contents)), start, end, others)
