"""Ranges of a file that several tasks read side by side: each takes the records that begin in its range.

A task that starts within an archive looks for the first place where a record seems to begin. It can be deceived, by an archive within
the archive, say. So each task tells where its first record began and where the first record behind its range begins; where these
fit from range to range, the tasks have read exactly what one reader from start to end reads, and where not, the file is read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from udfs.readers.streams import CHUNK


@dataclass(frozen=True, slots=True)
class Part:
    """A range of a file.

    Attributes:
        begin: first byte.
        end: byte behind the last; -1 for the file's end, wherever it is.
        line: of a file of lines, the number of the first line that begins in the range.
    """

    begin: int = 0
    end: int = -1
    line: int = 1

    @property
    def whole(self) -> bool:
        """Whether this is the file."""
        return self.begin == 0 and self.end < 0


WHOLE = Part()


@dataclass(frozen=True, slots=True)
class Reached:
    """What the reader of a part has met.

    Attributes:
        first: where the first record of the range begins; None where none does.
        next: where the first one behind the range begins (the file's size where none does); None where ``first`` is.
        last: the last position given out; -1 where none was.
    """

    first: int | None
    next: int | None
    last: int


def cut(size: int, step: int) -> list[Part]:
    """Ranges of ``step`` bytes (the last one of what is left) that cover ``size`` bytes."""
    return [Part(begin, min(size, begin + step)) for begin in range(0, size, step)]


def joined(reached: Sequence[Reached], size: int) -> bool:
    """Whether the parts of a file, in order, met what one reader would have met: each ends where the next one that is not empty begins."""
    met = [part for part in reached if part.first is not None]
    follows = [part.first for part in met[1:]] + [size] * bool(met)
    return all(part.next == after and (after is None or part.last < after) for part, after in zip(met, follows, strict=True))


def line_feeds(file: BinaryIO, begin: int, end: int) -> int:
    """Line feeds in ``[begin, end)``."""
    file.seek(begin)
    count, left = 0, end - begin
    while left > 0 and (piece := file.read(min(left, CHUNK << 4))):
        count += piece.count(b"\n")
        left -= len(piece)
    return count


def counted_range(part: Part) -> tuple[int, int]:
    """Where to count line feeds for a part, so that sums over the parts before give the number of its first line."""
    return max(0, part.begin - 1), max(0, part.end - 1)


def numbered(parts: Iterable[Part], counts: Iterable[int]) -> list[Part]:
    """The parts with their first line's number, from the line feeds in each one's ``counted_range``."""
    found: list[Part] = []
    before = 0
    for part, count in zip(parts, counts, strict=True):
        # The line feed at begin - 1 or later ends the line that another part takes.
        found.append(Part(part.begin, part.end, before + 2 if part.begin else 1))
        before += count
    return found
