"""Items as rows of the lake: ``ITEMS`` as an ingest reads them (documents and rejects), candidates of silver.qa, and items of a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from schemas.conf import Ingest
from schemas.ids import canonical_json, content_id, text_hash
from udfs.admission.keys import question_key
from udfs.decontamination.items import Item
from udfs.readers.record import REASONS, Place, Record, Reject, checked, reject
from udfs.sources.adapters import Adapter
from udfs.sources.document import document_of
from udfs.sources.item import RecordError, SourceItem, wanted
from udfs.sources.read import SourceRecord

#: Longest title that is made of a question, in code points.
_TITLE = 80


@dataclass(frozen=True, slots=True)
class Origin:
    """What all items of one addition have in common.

    Attributes:
        ingest_id: their ingest.
        source: name of the collection.
        split: train or eval.
        licence: of items that name none of their own.
        engine: ``adapter`` or ``generator``.
        template: name and version of what made the items.
    """

    ingest_id: str
    source: str
    split: str
    licence: str | None
    engine: str
    template: str


@dataclass(slots=True)
class Rows:
    """Rows of an addition, in the order of the source.

    Attributes:
        items: rows of ``udfs.readers.arrow.ITEMS``.
        candidates: rows of silver.qa by document: of records that repeat one, the first counts, as among documents.
        benchmark: the same items as such that must not be trained on.
        refused: reason of rejects -> how many.
    """

    items: list[dict[str, Any]] = field(default_factory=list)
    candidates: dict[str, dict[str, Any]] = field(default_factory=dict)
    benchmark: list[Item] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def refuse(self, path: str, source: str, found: Reject) -> None:
        """Add what is no item."""
        self.refused[found.reason] += 1
        self.items.append({
            "path": path, "source": source, "position": found.position, "reason": found.reason, "detail": found.detail,
            "first_bytes": found.first_bytes, **dict.fromkeys(("doc_id", "uri", "title", "text", "licence", "metadata")),
        })  # fmt: skip

    def add(
        self, place: Place, item: SourceItem, origin: Origin, conf: Ingest, *, licence: str = "", metadata: Mapping[str, Any] = MappingProxyType({})
    ) -> None:  # fmt: skip
        """Add an item as a document and a candidate; a reject where the lake cannot hold its text."""
        document = document_of(item)
        title = item.subject or " ".join(item.question.split())[:_TITLE]
        about = canonical_json({"kind": item.kind, "stage": item.stage, "template": origin.template, **metadata})
        uri = f"{origin.source}:{item.ident}" if item.ident else place.uri
        record = checked(Record(place.position, uri, title, document.text, licence or origin.licence, about), conf, b"")
        if isinstance(record, Reject):
            self.refuse(place.relative, origin.source, record)
            return
        doc_id = content_id(origin.source, uri, record.text)
        self.items.append({
            "path": place.relative, "position": place.position, "source": origin.source, "doc_id": doc_id, "uri": uri, "title": title,
            "text": record.text, "licence": record.licence, "metadata": about, "reason": None, "detail": None, "first_bytes": b"",
        })  # fmt: skip
        self.candidates.setdefault(doc_id, _candidate(item, doc_id, document.text, (document.start, document.end), origin))
        self.benchmark.append(item.as_benchmark(item.ident or str(len(self.benchmark))))


def rows_of_records(records: Iterable[SourceRecord | Reject], name: str, adapter: Adapter, origin: Origin, conf: Ingest) -> Rows:
    """Every record of a file as an item, or as a reject with its reason.

    Args:
        records: the file's.
        name: of the file.
        adapter: makes items of records.
        origin: what they have in common.
        conf: bounds of what the lake takes.
    """
    rows = Rows()
    for found in records:
        if isinstance(found, Reject):
            # A broken line may break personal data as well, so that no finder knows it: nothing of it is kept.
            bare = replace(found, first_bytes=b"", detail=REASONS[found.reason])
            rows.refuse(name, origin.source, bare if adapter.private else found)
            continue
        try:
            item = adapter.read(found.fields)
        except RecordError as error:
            shown = b"" if adapter.private else found.raw
            rows.refuse(name, origin.source, reject(found.place.position, error.reason, error.detail, shown))
            continue
        if adapter.private:
            rows.add(found.place, item, origin, conf)
        else:
            licence = wanted(found.fields, "licence", "license")
            rows.add(found.place, item, origin, conf, licence=licence, metadata={"record": found.fields})
    return rows


def rows_of_items(items: Iterable[SourceItem], origin: Origin, conf: Ingest) -> Rows:
    """Generated items, each at its place in their row.

    Args:
        items: in order.
        origin: what they have in common.
        conf: bounds of what the lake takes.
    """
    rows = Rows()
    for at, item in enumerate(items):
        rows.add(Place(origin.source, "N", at), item, origin, conf)
    return rows


def _candidate(item: SourceItem, doc_id: str, text: str, place: tuple[int, int], origin: Origin) -> dict[str, Any]:
    start, end = place
    gold = text[start:end]
    return {
        "qa_id": content_id(doc_id, item.kind, item.question, gold, start), "ingest_id": origin.ingest_id, "doc_id": doc_id, "cluster_id": doc_id,
        "split": origin.split, "request_hash": content_id("added", doc_id), "engine": origin.engine, "template": origin.template, "kind": item.kind,
        "subject": item.subject, "question": item.question, "answer": gold, "answer_type": item.answer_type,
        "contract": "{}" if item.contract is None else item.contract.canonical(), "evidence_start": start, "evidence_end": end,
        "evidence_hash": text_hash(gold), "answer_start": start, "answer_end": end,
        # No sentence of a corpus is made into such a question: nothing collides with it.
        "pattern": content_id("added", question_key(item.question), gold), "distractors": "[]", "domain": item.domain or origin.source,
        "filter_reason": item.refused,
    }  # fmt: skip
