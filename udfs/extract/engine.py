"""The ``extractive`` engine: rule-made questions with short answers and evidence by construction; no model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from udfs.extract.candidate import Candidate, normal
from udfs.extract.cloze import at_clause_end, cloze_pattern, clozes, sentences, spans_of, stem_of
from udfs.extract.definitions import base_classes, described_names
from udfs.extract.outline import Outline, outline
from udfs.extract.reference import exceptions_raised, version_changes
from udfs.extract.segment import MAX_LOOK
from udfs.extract.values import constants, param_defaults

#: Version of the rules: part of the request hash, so that a changed rule asks anew.
VERSION = "3"
#: Which kinds a document's quota goes to first, one of each in turn.
KIND_ORDER = (
    "cloze_date", "cloze_number", "cloze_year", "cloze_name", "cloze_code", "special_method", "version_changed", "exception_raised", "docstring_name",
    "base_class", "constant_value", "param_default",
)  # fmt: skip


def _structured(doc: Outline) -> Iterator[Candidate]:
    yield from param_defaults(doc)
    yield from base_classes(doc)
    yield from constants(doc)
    yield from described_names(doc)
    yield from version_changes(doc)
    yield from exceptions_raised(doc)


def _order(item: Candidate) -> tuple[int, str, int, int, str]:
    return (item.evidence[0], item.kind, item.answer[0], item.answer[1], item.question)


def _unique(candidates: list[Candidate]) -> list[Candidate]:
    """Without second candidates for the same question; questions of the document with unequal answers are rejected together."""
    by_pattern: dict[str, list[Candidate]] = {}
    for item in candidates:
        by_pattern.setdefault(item.pattern, []).append(item)
    kept: list[Candidate] = []
    for group in by_pattern.values():
        golds = {normal(item.contract.gold) for item in group}
        kept.append(group[0] if len(golds) == 1 else group[0].reject("ambiguous_in_document"))
    return kept


def _select(candidates: list[Candidate], max_items: int) -> list[Candidate]:
    """At most ``max_items`` that pass, one of each kind in turn, and as many rejected ones; the rest of those that pass is ``over_quota``."""
    queues = {
        kind: sorted((item for item in candidates if item.kind == kind and not item.reason), key=lambda item: (item.rank, *_order(item)))
        for kind in KIND_ORDER
    }
    kept: list[Candidate] = []
    while len(kept) < max_items and any(queues.values()):
        for kind in KIND_ORDER:
            if queues[kind] and len(kept) < max_items:
                kept.append(queues[kind].pop(0))
    over = [item.reject("over_quota") for kind in KIND_ORDER for item in queues[kind]]
    rejected = sorted([item for item in candidates if item.reason] + over, key=_order)
    return sorted(kept + rejected[:max_items], key=_order)


def topic_of(source: str, metadata_json: str) -> str:
    """Topic of a document: the first of domain, category and topic in its metadata, else its source."""
    try:
        metadata = json.loads(metadata_json or "{}")
    except ValueError:
        return source
    if isinstance(metadata, dict):
        for key in ("domain", "category", "topic"):
            if isinstance(metadata.get(key), str) and metadata[key].strip():
                return str(metadata[key]).strip()
    return source


def extract(
    doc_id: str, source: str, uri: str, title: str | None, text: str, metadata_json: str, *, max_items: int
) -> list[dict[str, Any]]:
    """Candidate questions of one document, in order of their evidence.

    Args:
        doc_id: id of the document; together with ``uri`` carried for the interface of engines, the rules do not look at them.
        source: name of the collection, the domain where the metadata names none.
        uri: address of the document.
        title: title, or None; a heading or first line stands in for it.
        text: the document; offsets of the result are code points of it. At most ``MAX_LOOK`` of them are read.
        metadata_json: metadata as JSON.
        max_items: at most so many items that pass, and at most so many that a filter rejected.

    Returns:
        rows with the columns of silver.qa that an engine knows; ``filter_reason`` is None for those that pass.
    """
    del doc_id, uri
    doc = outline(text, title)
    candidates = sorted([*_structured(doc), *clozes(doc)], key=_order)
    domain = topic_of(source, metadata_json)
    return [item.row(text, domain) for item in _select(_unique(candidates), max_items)]


def patterns(text: str, title: str | None) -> list[tuple[str, str]]:
    """(pattern, normalised answer) of everything in a document that a question could have been made of, unfiltered, sorted.

    Run over every document as it was before de-duplication: a kept item whose ``pattern`` occurs here with another answer fits
    two places of the corpus and is ambiguous.
    """
    doc = outline(text, title)
    found = {(item.pattern, normal(item.contract.gold)) for item in _structured(doc)}
    for sentence in sentences(doc):
        for span in spans_of(doc.text, sentence):
            if at_clause_end(doc.text, sentence, span):
                found.add((cloze_pattern(span.kind, stem_of(doc.text, sentence, span)), normal(span.gold)))
    return sorted(found)


__all__ = ["MAX_LOOK", "VERSION", "extract", "patterns"]
