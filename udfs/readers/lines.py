"""Lines of a byte stream in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from udfs.readers.record import FIRST_BYTES
from udfs.readers.streams import StreamFaultError

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its line feed.

    Attributes:
        number: from 1.
        start: its first byte's place in the stream (behind a byte order mark, which is not counted).
        data: its bytes; of a line over the limit only the first ``FIRST_BYTES``.
        length: bytes that it has in the file.
        too_long: over the limit.
        fault: the stream broke within (or right before) this line, which is therefore no whole line.
    """

    number: int
    start: int
    data: bytes
    length: int
    too_long: bool = False
    fault: StreamFaultError | None = None


def split_lines(pieces: Iterable[bytes], limit: int, *, offset: int = 0, number: int = 1) -> Iterator[Line]:
    """Splits at line feeds; a byte order mark at the start is dropped; a line over ``limit`` bytes is never held.

    Where the stream breaks, one last Line carries the fault and what there was of the line.

    Args:
        pieces: the stream.
        limit: longest line that is given out whole.
        offset: place of the first byte in the stream; only at 0 a byte order mark is looked for.
        number: of the first line.
    """
    carry: list[bytes] = []
    length = 0

    def finish(fault: StreamFaultError | None = None) -> Line:
        data = b"".join(carry)
        return Line(number, offset, data[:FIRST_BYTES] if length > limit else data, length, length > limit, fault)

    stream = iter(pieces) if offset else _without_bom(pieces)
    try:
        for piece in stream:
            parts = piece.split(b"\n")
            for at, part in enumerate(parts):
                if part:
                    # Beyond the limit only the head is of use.
                    if length <= limit:
                        carry.append(part if length + len(part) <= limit else part[:FIRST_BYTES])
                    length += len(part)
                if at < len(parts) - 1:
                    yield finish()
                    number, offset, length = number + 1, offset + length + 1, 0
                    carry.clear()
    except StreamFaultError as fault:
        yield finish(fault)
        return
    if length:
        yield finish()


def _without_bom(pieces: Iterable[bytes]) -> Iterator[bytes]:
    head = b""
    stream = iter(pieces)
    try:
        for piece in stream:
            head += piece
            if len(head) >= len(BOM):
                break
    except StreamFaultError:
        yield head.removeprefix(BOM)
        raise
    yield head.removeprefix(BOM)
    yield from stream
