"""explain: for any id of any layer the whole chain, up to the bytes of its source and down to everything it reached."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from jobs.views.contrast import Contrast, contrasts
from jobs.views.funnel import Sum, read_funnel
from jobs.views.links import INGEST_COLUMN, LINKS, STATION_OF, STATIONS, Link, Station, columns_of
from jobs.views.reader import LakeReader, alias, literal
from jobs.workspace import Workspace
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.errors import UnknownIdError, VerilakeError
from schemas.gold.tasks import TASKS
from schemas.ids import ID_DIGITS, text_hash
from schemas.silver.documents import DOCUMENTS as SILVER_DOCUMENTS
from schemas.silver.qa import QA
from schemas.table import Table

Direction = Literal["source", "here", "reached"]

#: Rows of one table that a chain follows, and rows that are returned for people.
FOLLOWED = 2000
SHOWN = 10
#: Code points of the document shown before and after the evidence.
AROUND = 160
_PREFIX = re.compile(rf"[0-9a-f]{{8,{ID_DIGITS}}}")


class AmbiguousIdError(VerilakeError):
    """A prefix that fits more than one id."""

    exit_code = 3

    @classmethod
    def from_prefix(cls, prefix: str, found: Iterable[str]) -> AmbiguousIdError:
        """Lists some of them."""
        some = sorted(found)
        return cls(f"{prefix} fits {len(some)} or more ids: {', '.join(some[:8])}. Give more digits.")


@dataclass(frozen=True)
class Section:
    """Rows of one table in the chain; ``rows`` holds at most ``SHOWN`` of ``total``, in order of the key."""

    table: str
    title: str
    direction: Direction
    key: tuple[str, ...]
    total: int
    rows: list[dict[str, Any]]
    complete: bool = True


@dataclass(frozen=True)
class Explanation:
    """The chain of one id, in the order of the way of the data; ``sums`` for an ingest, whose documents are too many to follow.

    ``contrasts``: open against closed book, of the first ``SHOWN`` tasks of the chain.
    """

    ident: str
    found_in: tuple[str, ...]
    sections: list[Section]
    sums: list[Sum] = field(default_factory=list)
    contrasts: list[Contrast] = field(default_factory=list)


def explain(workspace: Workspace, ident: str, *, shown: int = SHOWN) -> Explanation:
    """Everything the lake knows about an id.

    Args:
        workspace: where.
        ident: an id of any layer, or a unique prefix of at least 8 digits.
        shown: rows returned of each table; ``Section.total`` counts them all.

    Raises:
        NoLakeError: the workspace holds no lake.
        UnknownIdError: no table holds it.
        AmbiguousIdError: the prefix fits several.
    """
    wanted = ident.strip().lower().rpartition("=")[2]
    if not _PREFIX.fullmatch(wanted):
        raise UnknownIdError.from_id(ident)
    reader = LakeReader.open(workspace)
    hits = _find(reader, wanted)
    full = {found for _, _, found in hits}
    if not full:
        raise UnknownIdError.from_id(ident)
    if len(full) > 1:
        raise AmbiguousIdError.from_prefix(ident, full)
    (exact,) = full
    found_in = tuple(f"{table.name}.{column}" for table, column, _ in hits)
    if all(column == INGEST_COLUMN for _, column, _ in hits):
        return _explain_ingest(workspace, reader, exact, found_in, shown)
    chain = _Chain(reader)
    for table, column, _ in hits:
        chain.start(table, column, exact)
    chain.walk()
    sections = chain.sections(shown)
    tasks = [row["task_id"] for section in sections if section.table == TASKS.name for row in section.rows]
    return Explanation(exact, found_in, sections, contrasts=contrasts(reader, tasks))


def _find(reader: LakeReader, wanted: str) -> list[tuple[Table, str, str]]:
    """Tables and columns that hold the id or prefix; a handful of different ids is enough to call it ambiguous."""
    places = [(station.table, column) for station in STATIONS for column in station.ids]
    places += [(DOCUMENTS, INGEST_COLUMN), (REJECTS, INGEST_COLUMN)]
    hits = []
    for table, column in places:
        fits = f"{column} = {literal(wanted)}" if len(wanted) == ID_DIGITS else f"{column} LIKE {literal(wanted + '%')}"
        rows = reader.select(f"SELECT DISTINCT {column} AS id FROM {alias(table)} WHERE {fits} LIMIT 9", table)
        hits += [(table, column, str(row["id"])) for row in rows]
    return hits


class _Chain:
    """Rows found so far, by table and key, with the direction in which they were found."""

    def __init__(self, reader: LakeReader) -> None:
        self._reader = reader
        self._rows: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
        self._direction: dict[tuple[str, tuple[Any, ...]], Direction] = {}
        self._cut: set[str] = set()

    def start(self, table: Table, column: str, value: str) -> None:
        self._add(STATION_OF[table.name], [f"{column} = {literal(value)}"], "here")

    def walk(self) -> None:
        """Up from the start, down from the start, and what says more about each row of both."""
        begin = {name: list(rows.values()) for name, rows in self._rows.items()}
        self._follow(begin, upwards=True)
        self._follow(begin, upwards=False)
        for link in LINKS:
            if link.attached:
                for direction in ("here", "source", "reached"):
                    parents = [
                        r for key, r in self._rows.get(link.parent.name, {}).items() if self._direction[link.parent.name, key] == direction
                    ]
                    self._add(STATION_OF[link.child.name], _conditions(link, parents, upwards=False), direction)

    def _follow(self, begin: dict[str, list[dict[str, Any]]], *, upwards: bool) -> None:
        frontier = begin
        while frontier:
            new: dict[str, list[dict[str, Any]]] = {}
            for link in LINKS:
                here, there = (link.child, link.parent) if upwards else (link.parent, link.child)
                if link.attached or here.name not in frontier:
                    continue
                found = self._add(
                    STATION_OF[there.name], _conditions(link, frontier[here.name], upwards=upwards), "source" if upwards else "reached"
                )
                new.setdefault(there.name, []).extend(found)
            frontier = {name: rows for name, rows in new.items() if rows}

    def _add(self, station: Station, conditions: list[str], direction: Direction) -> list[dict[str, Any]]:
        """Read the rows that meet one of the conditions; returns those not met before."""
        held = self._rows.setdefault(station.table.name, {})
        added = []
        for condition in conditions:
            sql = (
                f"SELECT {self._reader.named(station.table, columns_of(station))} FROM {alias(station.table)} WHERE {condition} "
                f"ORDER BY {', '.join(station.table.key)} LIMIT {FOLLOWED + 1}"
            )
            for row in self._reader.select(sql, station.table):
                if len(held) >= FOLLOWED:
                    self._cut.add(station.table.name)
                    break
                key = tuple(row[name] for name in station.table.key)
                if key not in held:
                    held[key] = row
                    self._direction[station.table.name, key] = direction
                    added.append(row)
        return added

    def sections(self, shown: int) -> list[Section]:
        """In the order of the stations; rows of what was asked for, its sources and what it reached stay apart."""
        out = []
        for station in STATIONS:
            name = station.table.name
            for direction in ("source", "here", "reached"):
                keys = sorted((k for k in self._rows.get(name, {}) if self._direction[name, k] == direction), key=_order)
                if not keys:
                    continue
                rows = [_shown(station, self._rows[name][key]) for key in keys[:shown]]
                if station.table is QA:
                    self._quote(rows, [self._rows[name][key] for key in keys[:shown]])
                out.append(Section(name, station.title, direction, station.table.key, len(keys), rows, complete=name not in self._cut))
        return out

    def _quote(self, rows: list[dict[str, Any]], full: list[dict[str, Any]]) -> None:
        """Put the span of evidence beside each question, and whether its hash still holds."""
        ids = ", ".join(map(literal, sorted({row["doc_id"] for row in full})))
        # Offsets point into the text as conversion saw it, where personal data is masked; bronze's where curation has dropped the document since.
        texts: dict[str, str] = {}
        for table in (DOCUMENTS, SILVER_DOCUMENTS):
            sql = f"SELECT doc_id, text FROM {alias(table)} WHERE doc_id IN ({ids})"
            texts |= {row["doc_id"]: row["text"] for row in self._reader.select(sql, table)}
        for row, whole in zip(rows, full, strict=True):
            text = texts.get(whole["doc_id"])
            span = text[whole["evidence_start"] : whole["evidence_end"]] if text is not None else None
            row["evidence_text"] = span
            row["evidence_holds"] = span is not None and text_hash(span) == whole["evidence_hash"]
            row["evidence_marked"] = None if text is None else _marked(text, whole)


def _marked(text: str, row: dict[str, Any]) -> list[tuple[str, str]]:
    """The document around the evidence, in pieces with what each is: context, evidence, or the answer within it."""
    start, end = row["evidence_start"], row["evidence_end"]
    inside = start <= row["answer_start"] <= row["answer_end"] <= end
    answer = (row["answer_start"], row["answer_end"]) if inside else (end, end)
    cuts = [
        (max(0, start - AROUND), start, "context"),
        (start, answer[0], "evidence"),
        (*answer, "answer"),
        (answer[1], end, "evidence"),
        (end, end + AROUND, "context"),
    ]
    return [(kind, text[begin:stop]) for begin, stop, kind in cuts if text[begin:stop]]


def _conditions(link: Link, rows: list[dict[str, Any]], *, upwards: bool) -> list[str]:
    """SQL for the other end of a link, in pieces of a few hundred values."""
    pairs = [(child, parent) if upwards else (parent, child) for child, parent in link.on]
    values = sorted(
        {tuple(row[near] for near, _ in pairs) for row in rows if all(row.get(near) is not None for near, _ in pairs)}, key=_order
    )
    if not values:
        return []
    if len(pairs) == 1:
        lists = [values[at : at + 500] for at in range(0, len(values), 500)]
        return [f"{pairs[0][1]} IN ({', '.join(literal(value) for (value,) in part)})" for part in lists]
    tests = ["(" + " AND ".join(f"{far} = {literal(v)}" for (_, far), v in zip(pairs, value, strict=True)) + ")" for value in values]
    return [" OR ".join(tests[at : at + 100]) for at in range(0, len(tests), 100)]


def _order(key: tuple[Any, ...]) -> tuple[tuple[bool, Any], ...]:
    return tuple((isinstance(part, str), part) for part in key)


def _shown(station: Station, row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in dict.fromkeys([*station.table.key, *station.shown])}


def _explain_ingest(workspace: Workspace, reader: LakeReader, ingest_id: str, found_in: tuple[str, ...], shown: int) -> Explanation:
    """An ingest: its sums through the stations, and the first of its documents and rejects."""
    sections = []
    rejected = Station(REJECTS, "could not be read", ("source", "path", "position", "reason", "detail"))
    for station in (STATION_OF[DOCUMENTS.name], rejected):
        where = f"FROM {alias(station.table)} WHERE {INGEST_COLUMN} = {literal(ingest_id)}"
        count = reader.select(f"SELECT count(*) AS n {where}", station.table)
        if not count or not count[0]["n"]:
            continue
        columns = list(dict.fromkeys([*station.table.key, *station.shown]))
        rows = reader.select(f"SELECT {', '.join(columns)} {where} ORDER BY path, position LIMIT {shown}", station.table)
        sections.append(Section(station.table.name, station.title, "here", station.table.key, int(count[0]["n"]), rows))
    sums = [item for item in read_funnel(workspace, reader).sums if item.scope == f"ingest={ingest_id}"]
    return Explanation(ingest_id, found_in, sections, sums)
