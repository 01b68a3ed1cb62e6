"""Which documents a takedown means: asked for by address, id, licence or collection, and found in bronze or among earlier tombstones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa

from jobs.lake.layout import Lake
from jobs.ledger import read_events
from schemas.bronze.documents import DOCUMENTS
from schemas.errors import VerilakeError
from schemas.ids import canonical_json, content_id
from schemas.ops.tombstones import TOMBSTONES
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS

_FACTS = ("doc_id", "ingest_id", "source", "uri", "licence", "path", "position")


class UnknownSelectorError(VerilakeError):
    """A takedown asks for something that no document is."""

    exit_code = 3

    @classmethod
    def from_selectors(cls, unknown: Sequence[str]) -> UnknownSelectorError:
        """Which ones; nothing was written."""
        return cls(
            f"no document of this lake fits {', '.join(unknown)}. Nothing was written. "
            '`verilake sql "SELECT source, licence, uri, doc_id FROM bronze.documents"` lists what there is; a trailing * matches any ending of a uri.'
        )

    @classmethod
    def from_none(cls) -> UnknownSelectorError:
        """Nothing was asked for."""
        error = cls("a takedown needs at least one of --uri, --doc, --licence, --source. Nothing was written.")
        error.exit_code = 2
        return error


@dataclass(frozen=True)
class Selector:
    """What was asked for; a document is meant where any of the values fits.

    Attributes:
        uri: addresses; a trailing ``*`` matches any ending, no other character is special.
        doc: ids of documents.
        licence, source: as in bronze.documents, letter for letter.
    """

    uri: tuple[str, ...] = ()
    doc: tuple[str, ...] = ()
    licence: tuple[str, ...] = ()
    source: tuple[str, ...] = ()

    @property
    def asked(self) -> dict[str, list[str]]:
        """As JSON carries it, without what was not asked for."""
        return {name: sorted(set(values)) for name in ("uri", "doc", "licence", "source") if (values := getattr(self, name))}

    @property
    def takedown_id(self) -> str:
        """Content hash: asking again is the same takedown."""
        return content_id("takedown", self.asked)

    def fits(self, kind: str, value: str, document: Document) -> bool:
        """Whether one value of one kind means this document."""
        held = {"uri": document.uri, "doc": document.doc_id, "licence": document.licence, "source": document.source}[kind]
        if kind == "uri" and value.endswith("*"):
            return document.uri.startswith(value[:-1])
        return held == value


@dataclass(frozen=True)
class Document:
    """What is known of a document without its text.

    Attributes:
        own_uri: the record brought its address along; else it is made of path and position, and says nothing about another delivery.
        digest: hex of the digest of its text in normal form; empty where it was never profiled.
        same_text_as: the document that was asked for and has the same text; None where this one was asked for itself.
    """

    doc_id: str
    ingest_id: str
    source: str
    uri: str
    licence: str | None
    own_uri: bool
    digest: str = ""
    same_text_as: str | None = None

    def to_json(self) -> dict[str, Any]:
        """For ops.tombstones: enough to know the document again when its bytes are gone."""
        return {
            "ingest_id": self.ingest_id, "source": self.source, "uri": self.uri, "licence": self.licence, "own_uri": self.own_uri,
            "digest": self.digest, "same_text_as": self.same_text_as,
        }  # fmt: skip


def select_documents(lake: Lake, selector: Selector) -> list[Document]:
    """The documents of a takedown in order of their ids: those asked for, and those of their near-duplicate clusters.

    Raises:
        UnknownSelectorError: nothing was asked for, or a value fits no document.
    """
    if not selector.asked:
        raise UnknownSelectorError.from_none()
    known = {document.doc_id: document for document in (*buried(lake), *_received(lake, selector))}
    pairs = [(kind, value) for kind, values in selector.asked.items() for value in values]
    unknown = [f"--{kind} {value}" for kind, value in pairs if not any(selector.fits(kind, value, d) for d in known.values())]
    if unknown:
        raise UnknownSelectorError.from_selectors(unknown)
    asked = {ident: d for ident, d in known.items() if any(selector.fits(kind, value, d) for kind, value in pairs)}
    twins = _twins(lake, set(asked))
    earlier = {ident: d for ident, d in known.items() if d.same_text_as in asked}
    received = {d.doc_id: d for d in _rows(lake, _is_in("doc_id", twins))}
    found = {**asked, **{ident: _as_twin(received[ident], of) for ident, of in twins.items() if ident in received}, **earlier}
    digests = _digests(lake, found)
    return [_with_digest(document, digests) for _, document in sorted(found.items())]


def buried(lake: Lake) -> list[Document]:
    """Documents that earlier takedowns named, as their tombstones remember them."""
    return [document for event in read_events(lake, TOMBSTONES) if (document := _remembered(event)) is not None]


def tombstoned(lake: Lake) -> set[str]:
    """doc_id of every document that was taken down."""
    return {event["doc_id"] for event in read_events(lake, TOMBSTONES, ["doc_id"])}


def marks(lake: Lake) -> list[tuple[str, str, str]]:
    """By what a later delivery is known as one that was taken down: (``doc``, ``text`` or ``uri``; its id, digest or address; takedown_id)."""
    found: dict[tuple[str, str], str] = {}
    for event in sorted(read_events(lake, TOMBSTONES), key=lambda event: str(event["takedown_id"]), reverse=True):
        document = _remembered(event)
        found["doc", event["doc_id"]] = event["takedown_id"]
        if document is not None and document.digest:
            found["text", document.digest] = event["takedown_id"]
        if document is not None and document.own_uri and document.same_text_as is None:
            found["uri", document.uri] = event["takedown_id"]
    return [(kind, value, takedown) for (kind, value), takedown in sorted(found.items())]


def _remembered(event: dict[str, Any]) -> Document | None:
    facts = json.loads(event["selector"]).get("document")
    return Document(doc_id=event["doc_id"], **facts) if facts else None


def _received(lake: Lake, selector: Selector) -> list[Document]:
    import pyarrow.compute as pc

    tests = []
    for kind, column in (("doc", "doc_id"), ("licence", "licence"), ("source", "source")):
        if values := getattr(selector, kind):
            tests.append(pc.field(column).isin(list(values)))
    exact = [uri for uri in selector.uri if not uri.endswith("*")]
    tests += [pc.field("uri").isin(exact)] if exact else []
    tests += [pc.starts_with(pc.field("uri"), pattern=uri[:-1]) for uri in selector.uri if uri.endswith("*")]
    return _rows(lake, reduce(or_, tests))


def _rows(lake: Lake, condition: Any) -> list[Document]:
    table = lake.dataset(DOCUMENTS).to_table(columns=list(_FACTS), filter=condition)
    return [
        Document(
            doc_id=row["doc_id"], ingest_id=row["ingest_id"], source=row["source"], uri=row["uri"], licence=row["licence"],
            own_uri=not row["uri"].startswith(f"{row['path']}#"),
        )
        for row in table.to_pylist()
    ]  # fmt: skip


def _twins(lake: Lake, asked: set[str]) -> dict[str, str]:
    """Documents with the text of one that was asked for, and which one: its survivor, and everything that repeats the same survivor."""
    verdicts = lake.dataset(DOCUMENT_VERDICTS)
    columns = ["doc_id", "dup_of"]
    repeats = verdicts.to_table(columns=columns, filter=_is_in("doc_id", asked)).to_pylist()
    survivor_of = {row["doc_id"]: row["dup_of"] or row["doc_id"] for row in sorted(repeats, key=lambda row: row["doc_id"], reverse=True)}
    speaks_for = {survivor: doc_id for doc_id, survivor in survivor_of.items()}
    others = verdicts.to_table(columns=columns, filter=_is_in("dup_of", speaks_for)).to_pylist()
    cluster = speaks_for | {row["doc_id"]: speaks_for[row["dup_of"]] for row in others}
    return {doc_id: of for doc_id, of in cluster.items() if doc_id not in asked}


def _digests(lake: Lake, wanted: Iterable[str]) -> dict[str, str]:
    rows = lake.dataset(DOCUMENT_PROFILES).to_table(columns=["doc_id", "digest"], filter=_is_in("doc_id", wanted))
    return {row["doc_id"]: row["digest"].hex() for row in rows.to_pylist()}


def _is_in(column: str, values: Iterable[str]) -> Any:
    import pyarrow.compute as pc

    return pc.field(column).isin(pa.array(sorted(values), pa.string()))


def _as_twin(document: Document, of: str) -> Document:
    from dataclasses import replace

    return replace(document, same_text_as=of)


def _with_digest(document: Document, digests: dict[str, str]) -> Document:
    from dataclasses import replace

    return replace(document, digest=digests.get(document.doc_id, document.digest))


def tombstone(document: Document, selector: Selector, state: str, reason: str, at: Any) -> dict[str, Any]:
    """A row of ops.tombstones."""
    return {
        "event_id": content_id(document.doc_id, state), "takedown_id": selector.takedown_id, "doc_id": document.doc_id, "state": state,
        "selector": canonical_json({"asked": selector.asked, "document": document.to_json()}), "reason": reason, "at": at,
    }  # fmt: skip
