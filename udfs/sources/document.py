"""An item as a document: one canonical text in which the gold has its place, so that lineage and takedown work as for any other text."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.code import CodeContract
from udfs.sources.item import SourceItem

#: Version of the spelling below; part of every fingerprint, because ids hash the text.
VERSION = "1"


@dataclass(frozen=True, slots=True)
class ItemDocument:
    """The text of an item, and where its gold stands in it.

    Attributes:
        text: the document.
        start, end: code points of the gold; of a refused item, of the whole question.
    """

    text: str
    start: int
    end: int


def document_of(item: SourceItem) -> ItemDocument:
    """Question, options, gold, solution and tests under headings, in this order; parts that the item lacks are left out.

    A gold is a part of its own, so that its place is exact whatever else the text holds.
    """
    code = isinstance(item.contract, CodeContract)
    question = f"{'Task' if code else 'Question'}:\n"
    parts = [f"{question}{item.question}"]
    if item.options:
        parts.append("Options:\n" + "\n".join(f"{chr(65 + at)}. {text}" for at, text in enumerate(item.options)))
    if item.refused is not None:
        return ItemDocument("\n\n".join(parts), len(question), len(question) + len(item.question))
    heading = "Reference program:\n" if code else "Answer: "
    start = sum(len(part) + 2 for part in parts) + len(heading)
    parts.append(heading + item.answer)
    parts += [f"{name}:\n{text}" for name, text in (("Solution", item.solution), ("Tests", item.tests)) if text]
    return ItemDocument("\n\n".join(parts), start, start + len(item.answer))
