"""Rows of one file in chunks, as they are asked for; never more of the file in memory than a few chunks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from jobs.dedup.source import parquet_batches
from jobs.grade.errors import FileRefusedError
from schemas.errors import InputRefusedError
from udfs.readers.lines import Line, split_lines
from udfs.readers.sniff import sniff_file
from udfs.readers.streams import decompress
from udfs.verifiers.chunks import Chunk
from udfs.verifiers.lines import read_line
from udfs.verifiers.rows import RowError

#: Bytes of a chunk: no further row is added beyond.
CHUNK_BYTES = 1 << 20
#: Longest line that is read; a longer one is a row of ``error``.
LINE_BYTES = 64 << 20
#: Lines and bytes at the start within which some record must have the fields that grading needs.
HEAD_LINES, HEAD_BYTES = 1000, 4 << 20


@dataclass(frozen=True, slots=True)
class Needed:
    """What a file of this kind must have.

    Attributes:
        names: some record must have one field of each of these.
        hint: said where one has none.
    """

    names: tuple[tuple[str, ...], ...]
    hint: str


#: To grade: an answer, the verifier that grades it, and something that it is graded against.
GRADE = Needed((("answer",), ("verifier",), ("gold", "tests")), "`verilake grade --list` names what each verifier needs.")


class LineSource:
    """JSON lines; blank ones are no rows."""

    #: The columns of a Parquet file; lines have none.
    schema: pa.Schema | None = None

    def __init__(self, path: Path, file: BinaryIO, size: int, lines: Iterator[Line], needed: Needed) -> None:
        self._path, self._file, self._size, self._lines, self._needed = path, file, size, lines, needed
        self._ahead: deque[Line] = deque()
        self._look()

    @property
    def done(self) -> float:
        """Share of the file that has been read."""
        return self._file.tell() / max(1, self._size)

    def take(self, rows: int) -> Chunk | None:
        """See :class:`udfs.verifiers.pool.Source`."""
        lines: list[bytes] = []
        places: list[int] = []
        faults: dict[int, str] = {}
        size = 0
        while len(places) < rows and size < CHUNK_BYTES and (line := self._next()) is not None:
            if line.too_long:
                faults[len(places)] = "too_long"
            lines.append(b"" if line.too_long else line.data)
            places.append(line.number)
            size += len(lines[-1])
        return Chunk("lines", b"\n".join(lines), places, faults) if places else None

    def _next(self) -> Line | None:
        return self._ahead.popleft() if self._ahead else self._read()

    def _read(self) -> Line | None:
        for line in self._lines:
            if line.fault is not None:
                raise FileRefusedError.from_unusable(str(self._path), line.fault.detail)
            if line.too_long or line.data.strip():
                return line
        return None

    def _look(self) -> None:
        """Refuse a file that has no rows of this kind before a single one is given out."""
        names: set[str] = set()
        size = 0
        while len(self._ahead) < HEAD_LINES and size < HEAD_BYTES and (line := self._read()) is not None:
            self._ahead.append(line)
            size += len(line.data)
            try:
                fields = read_line(line.data)
            except RowError:
                continue
            names.update(fields.known)
            names.update(name[1:-1] for name, _ in fields.carried)
            if all(not names.isdisjoint(any_of) for any_of in self._needed.names):
                return
        if not self._ahead:
            raise FileRefusedError.from_nothing(str(self._path))
        _check(self._path, names, self._needed)


class RowSource:
    """Rows of a Parquet file."""

    def __init__(self, path: Path, file: BinaryIO, needed: Needed) -> None:
        self._path = path
        with _readable(path):
            self._file = pq.ParquetFile(file, pre_buffer=False)
        self.schema: pa.Schema | None = self._file.schema_arrow
        names = self._file.schema_arrow.names
        if len(set(names)) < len(names):
            raise FileRefusedError.from_unusable(str(path), "two columns have the same name")
        _check(path, set(names), needed)
        self._total, self._row = int(self._file.metadata.num_rows), 0
        if not self._total:
            raise FileRefusedError.from_nothing(str(path))
        self._batches = parquet_batches(self._file)
        self._held: pa.RecordBatch | None = None

    @property
    def row_bytes(self) -> float:
        """Mean uncompressed bytes of a row, by the file's own figures."""
        groups = (self._file.metadata.row_group(group).total_byte_size for group in range(self._file.num_row_groups))
        return max(1.0, float(sum(groups)) / self._total)

    @property
    def done(self) -> float:
        """Share of the rows that have been read."""
        return self._row / self._total

    def take(self, rows: int) -> Chunk | None:
        """See :class:`udfs.verifiers.pool.Source`."""
        while self._held is None or not self._held.num_rows:
            with _readable(self._path):
                self._held = next(self._batches, None)
            if self._held is None:
                return None
        # by its share of the batch: it has about jobs.dedup.source.BATCH_BYTES
        fitting = max(1, int(CHUNK_BYTES * self._held.num_rows / max(1, self._held.nbytes)))
        part = self._held.slice(0, min(rows, fitting))
        self._held = self._held.slice(part.num_rows)
        begin, self._row = self._row, self._row + part.num_rows
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, part.schema) as writer:
            writer.write_batch(part)
        return Chunk("batch", sink.getvalue().to_pybytes(), range(begin, self._row))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise FileRefusedError.from_unusable(str(path), (str(error).splitlines() or [type(error).__name__])[0]) from error


def _check(path: Path, names: set[str], needed: Needed) -> None:
    for any_of in needed.names:
        if names.isdisjoint(any_of):
            raise FileRefusedError.from_missing(str(path), " or ".join(f"the field {name!r}" for name in any_of), names, needed.hint)


@contextmanager
def open_source(path: Path, needed: Needed = GRADE) -> Iterator[LineSource | RowSource]:
    """The rows of a file, recognised by its first bytes.

    Args:
        path: of the file.
        needed: fields without which the file is another one than was meant.

    Raises:
        InputRefusedError: there is no such file, or it cannot be read.
        FileRefusedError: it holds something else, nothing, or no record with the needed fields. Reading on raises it where the
            file breaks off.
    """
    if not path.exists():
        raise InputRefusedError.from_missing(str(path))
    if not path.is_file():
        raise FileRefusedError.from_unusable(str(path), "it is no file")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputRefusedError(f"{path}: {error.strerror or error}") from error
    with file:
        found = sniff_file(file)
        file.seek(0)
        if found.kind == "parquet":
            yield RowSource(path, file, needed)
        elif found.kind == "jsonl":
            yield LineSource(path, file, path.stat().st_size, split_lines(decompress(file, found.compression), LINE_BYTES), needed)
        elif found.kind == "empty":
            raise FileRefusedError.from_nothing(str(path))
        else:
            raise FileRefusedError.from_unusable(str(path), found.detail or f"it holds {found.kind}, no JSON")
