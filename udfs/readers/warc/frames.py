"""Where the records of an archive begin and end: one pass over a file, from damage to the next sound record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

from udfs.readers.record import FIRST_BYTES, Reason, Reject, reject
from udfs.readers.streams import StreamFaultError
from udfs.readers.warc.headers import BLANK_LINE, MAX_HEADER, parse_headers
from udfs.readers.warc.members import Member, first_bytes, packing, skip_frame
from udfs.readers.window import Window

MAGIC = b"WARC/"
_START = rb"WARC/[01]\.\d{1,2}\r?\n[A-Za-z]"
#: The first line of a record at the start of a line.
PLAIN = re.compile(rb"(?<=\n)" + _START)
#: Likewise, or bytes that may begin a gzip member or a zstd frame.
ANY = re.compile(rb"(?<=\n)" + _START + rb"|\x1f\x8b\x08[\x00-\x1f]|\x28\xb5\x2f\xfd", re.DOTALL)
_PADDING = re.compile(rb"[\r\n\t \0]*")
#: White space between records that is passed over without being called damage.
_MAX_PADDING = 4096
_END = b"\r\n\r\n"
#: How far into a file with a damaged start a record is looked for.
SOON = 1 << 20


@dataclass(frozen=True, slots=True)
class Frame:
    """One record as it stands in the archive.

    Attributes:
        position: byte offset of the record, or of the gzip member or zstd frame that it begins. A further record of the same member
            has the offset of the member plus its ordinal (at least the position before plus one), so that places are unique and rise.
        headers: its WARC fields by lower-case name.
        block: its content, ``Content-Length`` bytes.
    """

    position: int
    headers: dict[str, str]
    block: bytes


class Archive:
    """The records of a file that begin in a range of bytes.

    Attributes:
        first: where the first record (or damage) of the range begins; None while there is none.
        next: where the first one behind the range begins, or the file's size; known once ``frames`` has ended.
        last: the last position given out; -1 before.
    """

    def __init__(self, file: BinaryIO, limit: int, begin: int = 0, end: int | None = None) -> None:
        file.seek(0, 2)
        self._size = file.tell()
        self._limit, self._begin, self._end = limit, begin, self._size if end is None else end
        self._dictionary = _dictionary_of(file)
        self._window = Window.of_file(file)
        self.first: int | None = None
        self.next: int | None = None
        self.last = -1

    def frames(self) -> Iterator[Frame | Reject]:
        """Records and damage in order of position."""
        window = self._window
        if self._begin:
            window.seek(self._begin)
            if not window.find(ANY, self.begins_here, self._end):
                return
        while True:
            _skip_padding(window)
            if not window.fill(1) or window.offset >= self._end:
                break
            if self.first is None:
                self.first = window.offset
            yield from self._at_boundary(window)
        self.next = min(window.offset, self._size)

    def begins_here(self, window: Window) -> bool:
        """Whether a record begins at the window's place, packed or not."""
        kind = packing(window.peek(4))
        if kind is None:
            return window.peek(len(MAGIC)) == MAGIC
        return first_bytes(window.peek(1 << 16), kind, self._dictionary, len(MAGIC)) == MAGIC

    def _at_boundary(self, window: Window) -> Iterator[Frame | Reject]:
        start = window.peek(8)
        kind = packing(start)
        if kind == "skippable":
            skip_frame(window)
        elif kind is not None:
            yield from self._member(window, Member(window, kind, self._dictionary))
        elif start.startswith(MAGIC):
            yield self._place(take(window, window.offset, self._limit, self))
        else:
            yield self._place(reject(window.offset, "corrupt_warc", "no record begins here", window.peek(FIRST_BYTES)))
            window.skip(1)
            window.find(ANY, self.begins_here)

    def _member(self, window: Window, member: Member) -> Iterator[Frame | Reject]:
        begin, inner = window.offset, Window(member.read)
        ordinal = 0
        told: StreamFaultError | None = None
        while True:
            _skip_padding(inner)
            if not inner.fill(1):
                break
            if inner.peek(len(MAGIC)) == MAGIC:
                item = take(inner, begin + ordinal, self._limit, None)
            else:
                item = reject(begin + ordinal, "corrupt_warc", "no record begins here", inner.peek(FIRST_BYTES))
                inner.find(PLAIN, _always)
            if inner.fault is not None and isinstance(item, Reject):
                # Whatever seems wrong with this record, the damage that it ran into is why.
                told = inner.fault
                if item.reason != "too_long":
                    item = Reject(item.position, told.reason, told.detail, item.first_bytes)
            yield self._place(item)
            ordinal += 1
        fault = inner.fault
        if fault is not None and fault is not told:
            yield self._place(reject(begin + ordinal, fault.reason, fault.detail, b""))
        if fault is not None:
            # Behind a bomb go on from here; behind damage from its start, for the damage may have hidden the member's end.
            window.seek(window.offset if fault.reason == "compression_bomb" else begin + 1)
            window.find(ANY, self.begins_here)

    def _place(self, item: Frame | Reject) -> Frame | Reject:
        position = max(item.position, self.last + 1)
        self.last = position
        if position == item.position:
            return item
        if isinstance(item, Frame):
            return Frame(position, item.headers, item.block)
        return Reject(position, item.reason, item.detail, item.first_bytes)


def begins_soon(file: BinaryIO) -> bool:
    """Whether a record of an archive begins within the first ``SOON`` bytes of a file, packed or not."""
    archive = Archive(file, 0)
    window = Window.of_file(file)
    return window.find(ANY, archive.begins_here, SOON)


def take(window: Window, position: int, limit: int, archive: Archive | None) -> Frame | Reject:
    """The record at the window's place; the window then stands where the next may begin.

    Args:
        window: at ``WARC/``.
        position: place of the record in the file.
        limit: longest block, in bytes; a longer one is passed over.
        archive: where the window is that over the file itself: records behind this one may be packed.
    """
    shown = window.peek(FIRST_BYTES)
    found = window.index(BLANK_LINE, MAX_HEADER)
    if found is None:
        whole = window.ahead >= MAX_HEADER
        detail = f"no blank line within {MAX_HEADER} bytes" if whole else "the archive ends within the header of a record"
        return _damaged(window, len(MAGIC), archive, _fault(window, "bad_header" if whole else "truncated_record", detail, position, shown))
    headers = parse_headers(window.peek(found[0]))
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 19):
        detail = f"Content-Length is {length[:40]!a}" if length else "no Content-Length"
        return _damaged(window, found[1], archive, reject(position, "bad_header", detail, shown))
    size = int(length)
    if size > limit:
        return _oversize(window, found[1], size, limit, archive, position, shown)
    whole = window.fill(found[1] + size)
    if whole and _ends(window, found[1], size, archive):
        if window.fault is not None and window.ahead < found[1] + size + len(_END) + 1:
            window.skip(window.ahead)
            return reject(position, window.fault.reason, window.fault.detail, shown)
        block = window.peek(size, found[1])
        window.skip(found[1] + size)
        return Frame(position, headers, block)
    begin = window.offset
    cut = _fault(
        window, "truncated_record", f"Content-Length is {size}, but the archive ends after {window.ahead - found[1]}", position, shown
    )
    item = _damaged(window, found[1], archive, reject(position, "bad_length", f"Content-Length is {size}, but no record ends there", shown))
    # Where nothing follows, the archive is cut; where another record does, the length was wrong.
    return cut if not whole and not window.fill(1) and window.offset > begin else item


def _fault(window: Window, reason: Reason, detail: str, position: int, shown: bytes) -> Reject:
    fault = window.fault
    return reject(position, fault.reason, fault.detail, shown) if fault is not None else reject(position, reason, detail, shown)


def _damaged(window: Window, start: int, archive: Archive | None, item: Reject) -> Reject:
    """Move to the next record behind ``start`` bytes."""
    # The line feed before a record may be the last byte of what is passed over.
    window.skip(max(0, start - 1))
    window.skip(1)
    if archive is not None:
        window.find(ANY, archive.begins_here)
    else:
        window.find(PLAIN, _always)
    return item


def _oversize(
    window: Window, header: int, size: int, limit: int, archive: Archive | None, position: int, shown: bytes
) -> Reject:  # fmt: skip
    item = reject(position, "too_long", f"a record of {size} bytes exceeds ingest.max_document_bytes = {limit}", shown)
    if archive is None:
        window.skip(header + size)
        # A block that unpacks to implausibly much is not read to its end.
        return item
    body = window.offset + header
    window.seek(body + size)
    if window.fill(0) and window.offset == body + size and _ends(window, 0, 0, archive):
        return item
    window.seek(body)
    window.find(ANY, archive.begins_here)
    reason: Reason = "bad_length" if window.fill(1) else "truncated_record"
    return reject(position, reason, f"Content-Length is {size}, but no record ends there", shown)


def _ends(window: Window, start: int, size: int, archive: Archive | None) -> bool:
    """Whether a block of ``size`` bytes from ``start`` on may end there: the next record or nothing follows it.

    Or two line ends and then damage; but not where another record seems to begin within the block: then its length is wrong.
    """
    rest = window.peek(_MAX_PADDING, start + size)
    padding = _PADDING.match(rest)
    after = rest[padding.end() if padding else 0 :][:8]
    if not after or after.startswith(MAGIC) or (archive is not None and packing(after) is not None):
        return True
    return rest.startswith(_END) and not window.holds(PLAIN, start, size)


def _skip_padding(window: Window) -> None:
    padding = _PADDING.match(window.peek(64))
    while padding is not None and padding.end():
        window.skip(padding.end())
        padding = _PADDING.match(window.peek(_MAX_PADDING))


def _always(_window: Window) -> bool:
    return True


def _dictionary_of(file: BinaryIO) -> zstandard.ZstdCompressionDict | None:
    window = Window.of_file(file)
    return skip_frame(window) if packing(window.peek(4)) == "skippable" else None
