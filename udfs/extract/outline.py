"""What each block of a document is about: its title, the heading above it, the definition that it explains."""

from __future__ import annotations

import re
from dataclasses import dataclass

from udfs.extract.segment import Block, blocks_of, is_rule
from udfs.extract.signature import Signature, signature_at

_MAX_TITLE = 100
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Passage:
    """A block with what it is about: ``topic`` is the title in force, ``definition`` the signature it explains."""

    block: Block
    topic: str | None
    definition: Signature | None


@dataclass(frozen=True, slots=True)
class Definition:
    """A signature with the block it stands in and its first explaining block; ``shared`` if it is one of several that are explained together."""

    signature: Signature
    block: Block
    body: Block | None
    shared: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """A document as the rules see it."""

    text: str
    title: str | None
    passages: tuple[Passage, ...]
    definitions: tuple[Definition, ...]

    @property
    def is_page(self) -> bool:
        """Whether the document is the page of one dotted name."""
        return self.title is not None and _DOTTED.fullmatch(self.title) is not None


def _signatures(text: str, block: Block) -> list[Signature]:
    """Signatures of a block, all of whose lines belong to signatures or to the list of bases; else none."""
    found: list[Signature] = []
    covered = block.start
    for line in block.lines:
        if line.start < covered or text.startswith("Bases:", line.start):
            continue
        signature = signature_at(text, line.start)
        if signature is None:
            return []
        found.append(signature)
        covered = signature.end
    return found


def _belongs(signature: Signature, title: str | None) -> bool:
    """Whether a page of this title would define this name."""
    if title is None:
        return False
    return signature.name == title or title.endswith("." + signature.name) or signature.name.startswith(title + ".")


def _first_line_title(text: str, blocks: list[Block]) -> str | None:
    """The first line, where it stands alone, is short and no sentence."""
    if not blocks or blocks[0].heading:
        return None
    first = blocks[0]
    alone = len(first.lines) == 1 or (len(first.lines) > 1 and is_rule(text, first.lines[1]))
    line = text[first.lines[0].start : first.lines[0].end]
    return line if alone and len(line) <= _MAX_TITLE and line[-1] not in ".,;:!?" else None


def _definitions(text: str, title: str | None, blocks: list[Block]) -> dict[int, list[Definition]]:
    """Definitions by the index of their block."""
    found: dict[int, list[Definition]] = {}
    for index, block in enumerate(blocks):
        signatures = [] if block.heading or block.bullet else _signatures(text, block)
        if not signatures:
            continue
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        indented = following is not None and following.indent > block.indent and block.blank_before and following.blank_before
        named = all(signature.marked or _belongs(signature, title) for signature in signatures)
        if named or (indented and all(signature.called for signature in signatures)):
            shared = len(signatures) > 1 or (index - 1 in found and not indented)
            found[index] = [Definition(signature, block, following if indented else None, shared) for signature in signatures]
    return found


def outline(text: str, title: str | None) -> Outline:
    """Read a document's shape. A title given wins; else the level-1 heading in force, else a first line that looks like one."""
    blocks = list(blocks_of(text))
    given = (title or "").strip() or None
    topic = given or _first_line_title(text, blocks)
    definitions = _definitions(text, given or topic, blocks)
    passages: list[Passage] = []
    open_definitions: list[tuple[int, Signature]] = []
    page_definition: Signature | None = None
    for index, block in enumerate(blocks):
        if block.heading:
            topic = _heading_text(text, block) if block.heading == 1 and given is None else topic
            open_definitions = []
            continue
        while open_definitions and open_definitions[-1][0] >= block.indent:
            open_definitions.pop()
        if index in definitions:
            signature = definitions[index][0].signature
            open_definitions.append((block.indent, signature))
            if signature.name == given:
                page_definition = signature
            continue
        definition = open_definitions[-1][1] if open_definitions else page_definition
        passages.append(Passage(block, topic, definition))
    flat = tuple(item for index in sorted(definitions) for item in definitions[index])
    return Outline(text, given or _first_line_title(text, blocks), tuple(passages), flat)


def _heading_text(text: str, block: Block) -> str:
    return text[block.start : block.end].strip("#= ").strip()
