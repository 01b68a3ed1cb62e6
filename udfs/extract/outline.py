"""What each block of a document is about: its title, the heading above it, the definition that it explains."""

from __future__ import annotations

import re
from dataclasses import dataclass

from udfs.extract.segment import Block, blocks_of, is_rule
from udfs.extract.signature import MAX_SIGNATURE, Signature, signature_at

_MAX_TITLE = 100
#: Blocks of a document that are tried as signatures; each try looks at no more than ``MAX_SIGNATURE`` code points.
MAX_TRIES = 4000
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


@dataclass(frozen=True, slots=True)
class Passage:
    """A block with what it is about.

    ``topic`` is the title in force, ``definition`` the signature above it; ``direct`` says that the block is indented like the first
    one under that signature (deeper ones may explain something that is no signature, such as an operator).
    """

    block: Block
    topic: str | None
    definition: Signature | None
    direct: bool


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
    """Signatures of a block, all of whose lines belong to signatures or to the list of bases; else none.

    A signature may be wrapped beyond its block (its continuation is indented), but not beyond a blank line.
    """
    blank = text.find("\n\n", block.end - 1, block.end + MAX_SIGNATURE)
    limit = blank if blank >= 0 else block.end + MAX_SIGNATURE
    found: list[Signature] = []
    covered = block.start
    for line in block.lines:
        if line.start < covered or text.startswith("Bases:", line.start):
            continue
        signature = signature_at(text, line.start, limit)
        if signature is None:
            return []
        found.append(signature)
        covered = signature.end
    return found


def _may_begin(text: str, block: Block) -> bool:
    """A cheap look before a parse: a bracket or a keyword within the first line."""
    line = block.lines[0]
    return text.find("(", line.start, line.end) >= 0 or text.startswith(("class ", "exception "), line.start)


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
    tries = MAX_TRIES
    for index, block in enumerate(blocks):
        if block.heading or block.bullet or tries <= 0 or not _may_begin(text, block):
            continue
        tries -= 1
        signatures = _signatures(text, block)
        if not signatures:
            continue
        covered = signatures[-1].end
        following = next((later for later in blocks[index + 1 : index + 20] if later.start >= covered), None)
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
    open_definitions: list[Definition] = []
    page_definition: Signature | None = None
    covered = 0
    for index, block in enumerate(blocks):
        if block.heading:
            topic = _heading_text(text, block) if block.heading == 1 and given is None else topic
            open_definitions = []
            continue
        while open_definitions and open_definitions[-1].block.indent >= block.indent:
            open_definitions.pop()
        if index in definitions:
            open_definitions.append(definitions[index][0])
            covered = definitions[index][-1].signature.end
            if open_definitions[-1].signature.name == given:
                page_definition = open_definitions[-1].signature
            continue
        if block.start < covered:
            continue  # the rest of a wrapped signature
        definition = open_definitions[-1].signature if open_definitions else page_definition
        body = open_definitions[-1].body if open_definitions else None
        direct = body is None or block.indent == body.indent
        passages.append(Passage(block, topic, definition, direct))
    flat = tuple(item for index in sorted(definitions) for item in definitions[index])
    return Outline(text, given or _first_line_title(text, blocks), tuple(passages), flat)


def _heading_text(text: str, block: Block) -> str:
    return text[block.start : block.end].strip("#= ").strip()
