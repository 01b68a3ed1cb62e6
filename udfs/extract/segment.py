"""Text to blocks and sentences with code point offsets, in one pass and in bounded time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from udfs.extract.wording import ABBREVIATIONS

#: Code points of a document that are looked at; what lies behind them yields no questions.
MAX_LOOK = 1 << 20
#: Longer sentences are never asked about, so they are not looked into.
MAX_SENTENCE = 400
_BULLET = re.compile(r"(?:[*+•–-]|\d{1,3}[.)]|[a-z]\))[ \t]+(?=\S)")
_BOUNDARY = re.compile(r"[.!?][\"'”’)\]]{0,3}(?=\s|$)")
_WIKI_HEADING = re.compile(r"(=(?: =)*) (.{1,120}?) (=(?: =)*)")
_HASH_HEADING = re.compile(r"(#{1,6}) +(.{1,120}?)(?: #+)?")
_RULE = re.compile(r"([=\-~^*#\"'`+])\1{2,}")
_NEXT_SENTENCE = re.compile(r"[\"'“‘(\[]{0,2}\s?[A-Z0-9*]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end: offsets of its first and behind its last visible code point, and its indentation."""

    start: int
    end: int
    indent: int


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: a paragraph, a list item, a definition or a heading."""

    start: int
    end: int
    indent: int
    lines: tuple[Line, ...]
    bullet: bool = False
    heading: int = 0  # level, 0 = none
    blank_before: bool = True


def lines_of(text: str) -> Iterator[Line | None]:
    """Lines of the part of the text that is looked at; None for a blank one."""
    position, limit = 0, min(len(text), MAX_LOOK)
    while position < limit:
        stop = text.find("\n", position, limit)
        stop = limit if stop < 0 else stop
        raw = text[position:stop]
        bare = raw.strip()
        if bare:
            start = position + raw.index(bare[0])
            yield Line(start, start + len(bare), len(raw[: start - position].expandtabs(8)))
        else:
            yield None
        position = stop + 1


def heading_of(text: str, line: Line) -> tuple[int, str] | None:
    """(level, heading) of a line in wiki or Markdown style."""
    if line.end - line.start > 140:
        return None
    bare = text[line.start : line.end]
    if bare[0] == "=" and (match := _WIKI_HEADING.fullmatch(bare)) and match[1] == match[3]:
        return (len(match[1]) + 1) // 2, match[2]
    if bare[0] == "#" and (match := _HASH_HEADING.fullmatch(bare)):
        return len(match[1]), match[2]
    return None


def blocks_of(text: str) -> Iterator[Block]:
    """Blocks in order. Fenced code is left out; a change of indentation, a bullet, a heading or a blank line begins a new one."""
    group: list[Line] = []
    bullet = fenced = False
    blank = begun_after_blank = True
    for line in lines_of(text):
        if line is None:
            yield from _close(group, bullet=bullet, blank=begun_after_blank)
            group, blank = [], True
            continue
        if text.startswith(("```", "~~~"), line.start):
            fenced = not fenced
            yield from _close(group, bullet=bullet, blank=begun_after_blank)
            group = []
            continue
        if fenced:
            continue
        heading = heading_of(text, line)
        new_bullet = _BULLET.match(text, line.start, line.end) is not None
        hanging = bullet and len(group) == 1
        if heading or new_bullet or (group and not hanging and line.indent != group[-1].indent):
            yield from _close(group, bullet=bullet, blank=begun_after_blank)
            group = []
        if heading:
            yield Block(line.start, line.end, line.indent, (line,), heading=heading[0], blank_before=blank)
        else:
            if not group:
                bullet, begun_after_blank = new_bullet, blank
            group.append(line)
        blank = False
    yield from _close(group, bullet=bullet, blank=begun_after_blank)


def _close(group: list[Line], *, bullet: bool, blank: bool) -> Iterator[Block]:
    if group:
        yield Block(group[0].start, group[-1].end, group[0].indent, tuple(group), bullet=bullet, blank_before=blank)


def is_rule(text: str, line: Line) -> bool:
    """Whether a line only underlines the one above it."""
    return _RULE.fullmatch(text, line.start, line.end) is not None


def _ends_sentence(text: str, block: Block, match: re.Match[str]) -> bool:
    """A full stop ends no sentence behind an abbreviation or an initial, or before a small letter."""
    if text[match.start()] == ".":
        head = text[max(block.start, match.start() - 12) : match.start()].rsplit(None, 1)
        word = head[-1].lstrip("(\"'“") if head and not text[match.start() - 1].isspace() else ""
        if word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word.isupper()):
            return match.end() >= block.end
    after = match.end()
    while after < block.end and text[after].isspace():
        after += 1
    return after >= block.end or _NEXT_SENTENCE.match(text, after, block.end) is not None


def sentences_of(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """(start, end) of the sentences of a block that are not too long; the end includes the closing mark."""
    start = block.start
    if block.bullet and (match := _BULLET.match(text, start, block.end)):
        start = match.end()
    for match in _BOUNDARY.finditer(text, start, block.end):
        if match.start() < start or not _ends_sentence(text, block, match):
            continue
        if match.end() - start <= MAX_SENTENCE:
            yield start, match.end()
        start = match.end()
        while start < block.end and text[start].isspace():
            start += 1
