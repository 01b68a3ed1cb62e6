"""What the file as a whole says of each of its rows: base rates, repeated questions, answers of siblings. A first reading of the file.

Kept of a row are three numbers and its answer, so that ten million rows fit in memory; contexts are not kept.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from jobs.grade.source import LineSource, RowSource
from schemas.ids import content_id
from udfs.admission.keys import question_key
from udfs.probes.check_chunk import NAMES
from udfs.probes.contracts import infer_type, known_type
from udfs.probes.item import FIELDS, Item, read_item
from udfs.text.normalise import normalise, squeeze
from udfs.verifiers.chunks import Chunk
from udfs.verifiers.grade_batch import BROKEN, column_values
from udfs.verifiers.lines import read_line
from udfs.verifiers.rows import RowError

#: Rows of a chunk of the first reading.
_ROWS = 512
#: Most answers of siblings that a row is compared with: those nearest in the file.
MAX_SIBLINGS = 32


def _digest(*parts: str) -> int:
    """63 bits of a content hash: what is the same has the same; of ten million rows one pair in 200,000 files collides."""
    return int(content_id("check_qa", *parts)[:16], 16) >> 1


def fields_of(chunk: Chunk) -> Iterator[Mapping[str, Any] | None]:
    """Known fields of each row; None where the row cannot be read."""
    if chunk.form == "lines":
        for index, line in enumerate(chunk.payload.split(b"\n")):
            try:
                fields = None if index in chunk.faults else read_line(line, NAMES)
            except RowError:
                fields = None
            yield None if fields is None or fields.flags else fields.known
        return
    with pa.ipc.open_stream(chunk.payload) as stream:
        rows = stream.read_all()
    columns = {name: column_values(rows.column(name), known=True) for name in FIELDS if name in rows.column_names}
    for index in range(rows.num_rows):
        row = {name: values[index] for name, values in columns.items()}
        yield None if any(value is BROKEN for value in row.values()) else row


class Survey:
    """Figures of all rows, by their order in the file."""

    def __init__(self) -> None:
        self._cells, self._answers_to, self._places = array("q"), array("q"), array("q")
        self._answers: list[str | None] = []
        self._groups: dict[int, array[int]] = {}
        self._of_group = array("q")
        self._rates: Counter[int] = Counter()
        self._types: Counter[int] = Counter()
        self._first: dict[int, int] = {}
        self._questions = array("q")

    def __len__(self) -> int:
        return len(self._answers)

    @classmethod
    def of(cls, source: LineSource | RowSource) -> Survey:
        """Read a file to its end.

        Raises:
            FileRefusedError: it breaks off.
        """
        survey = cls()
        while (chunk := source.take(_ROWS)) is not None:
            for place, fields in zip(chunk.places, fields_of(chunk), strict=True):
                survey._add(place, fields)
        return survey

    def _add(self, place: int, fields: Mapping[str, Any] | None) -> None:
        try:
            item = None if fields is None else read_item(fields)
        except RowError:
            item = None
        row = len(self._answers)
        self._places.append(place)
        self._answers.append(None if item is None else item.answer)
        group, question, kind, answer = (-1, -1, -1, -1) if item is None else self._keys(item)
        for column, value in ((self._of_group, group), (self._questions, question), (self._cells, kind), (self._answers_to, answer)):
            column.append(value)
        if item is not None:
            self._groups.setdefault(group, array("q")).append(row)
            self._first.setdefault(question, row)
            self._types[kind] += 1
            self._rates[answer] += 1

    @staticmethod
    def _keys(item: Item) -> tuple[int, int, int, int]:
        """Digests of a row's group, its question within that, its type with the language, and its answer within that."""
        group = _digest("group", item.group) if item.group is not None else _digest("context", item.context)
        kind = (known_type(item.answer_type) or infer_type(item.answer), item.language or "")
        answer = squeeze(normalise(item.answer))
        return group, _digest(str(group), question_key(item.question)), _digest(*kind), _digest(*kind, answer)

    def note(self, row: int) -> list[Any] | None:
        """What the file says of a row, as the fields of :class:`udfs.probes.check.Note`; None of one that cannot be read."""
        if self._answers[row] is None:
            return None
        first, kind, answer = self._first[self._questions[row]], self._cells[row], self._answers_to[row]
        known = first != row
        return [
            round(self._rates[answer] / self._types[kind], 6),
            self._types[kind],
            self._places[first] if known else None,
            known and self._answers_to[first] != answer,
            self._siblings(row),
        ]

    def _siblings(self, row: int) -> list[str]:
        """Answers of other rows of its group that are not its own, each once, in the order of the file."""
        rows = self._groups[self._of_group[row]]
        if len(rows) > MAX_SIBLINGS + 1:
            rows = array("q", sorted(sorted(rows, key=lambda other: (abs(other - row), other))[: MAX_SIBLINGS + 1]))
        own = self._answers_to[row]
        found = dict.fromkeys(self._answers[other] for other in rows if other != row and self._answers_to[other] != own)
        return [answer for answer in found if answer is not None]


class NotedSource:
    """A second reading of the same file, its chunks with what the first one found."""

    def __init__(self, source: LineSource | RowSource, survey: Survey) -> None:
        self._source, self._survey, self._row = source, survey, 0

    def take(self, rows: int) -> Chunk | None:
        """See :class:`udfs.verifiers.pool.Source`."""
        chunk = self._source.take(rows)
        if chunk is None:
            return None
        begin, self._row = self._row, self._row + len(chunk)
        if self._row > len(self._survey):
            return chunk  # the file has grown meanwhile: what came later is probed by itself
        notes = [self._survey.note(row) for row in range(begin, self._row)]
        return Chunk(chunk.form, chunk.payload, chunk.places, chunk.faults, notes)
