"""One gzip member or zstd frame out of a file, unpacked piece by piece; afterwards the file's window stands right behind it."""

from __future__ import annotations

import re
import zlib
from typing import Literal

import zstandard

from udfs.readers.streams import BOMB_FLOOR, BOMB_RATIO, GZIP_MAGIC, MAX_OUT, ZSTD_CHUNK, ZSTD_MAGIC, StreamFaultError
from udfs.readers.window import Window

Packing = Literal["gzip", "zstd", "skippable"]

_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)
#: The frame in which .warc.zst files bring their dictionary along (IIPC's proposal).
_DICTIONARY = b"\x5d\x2a\x4d\x18"
_MAX_DICTIONARY = 1 << 24
#: Packed bytes within which the first bytes of a member must come out.
_PROBE = 1 << 14
#: Packed bytes that one step of gzip takes: a member is a few kilobytes, and what lies behind it is copied for nothing.
_STEP = 1 << 14


def packing(start: bytes) -> Packing | None:
    """What packed bytes begin here, by their magic number."""
    if start.startswith(GZIP_MAGIC + b"\x08"):
        return "gzip"
    if start.startswith(ZSTD_MAGIC):
        return "zstd"
    return "skippable" if _SKIPPABLE.match(start) else None


def first_bytes(packed: bytes, kind: Packing, dictionary: zstandard.ZstdCompressionDict | None, count: int) -> bytes:
    """The first bytes that unpack from here; none where this is no member."""
    try:
        if kind == "gzip":
            return zlib.decompressobj(wbits=31).decompress(packed[:_PROBE], count)
        if kind == "zstd":
            frame = _frame(dictionary)
            for at in range(0, min(len(packed), 1 << 18), ZSTD_CHUNK):
                out = frame.decompress(packed[at : at + ZSTD_CHUNK])
                if out:
                    return out[:count]
    except (zlib.error, zstandard.ZstdError):
        pass
    return b""


def skip_frame(window: Window) -> zstandard.ZstdCompressionDict | None:
    """Pass a skippable frame; the dictionary that it holds, where it is one that can be used."""
    head = window.peek(8)
    size = int.from_bytes(head[4:], "little")
    if head[:4] != _DICTIONARY or size > _MAX_DICTIONARY:
        window.skip(8 + size)
        return None
    raw = window.peek(size, 8)
    window.skip(8 + size)
    if raw.startswith(ZSTD_MAGIC):
        try:
            raw = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        except zstandard.ZstdError:
            return None
    return zstandard.ZstdCompressionDict(raw) if len(raw) <= _MAX_DICTIONARY else None


def _frame(dictionary: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdDecompressionObj:
    return zstandard.ZstdDecompressor(dict_data=dictionary).decompressobj()


class Member:
    """The member or frame at the place of ``window``; ``read`` gives its unpacked bytes and, at its end, nothing."""

    def __init__(self, window: Window, kind: Packing, dictionary: zstandard.ZstdCompressionDict | None) -> None:
        self._window, self._kind = window, kind
        self._begin = window.offset
        self._gzip = zlib.decompressobj(wbits=31)
        self._zstd = _frame(dictionary) if kind == "zstd" else None
        self._given = 0
        self._late: StreamFaultError | None = None

    def read(self, _count: int) -> bytes:
        """The next piece, of whatever size is at hand.

        Raises:
            StreamFaultError: after the last good byte of a damaged or truncated member, or of one that unpacks to implausibly much.
        """
        if self._late is not None:
            raise self._late
        step = self._inflate if self._kind == "gzip" else self._unpack
        out = b""
        while not out and not self._ended:
            out = step()
        self._given += len(out)
        consumed = self._window.offset - self._begin
        if self._given > BOMB_FLOOR + BOMB_RATIO * consumed:
            raise StreamFaultError.from_bomb(consumed, self._given)
        return out

    @property
    def _ended(self) -> bool:
        return self._gzip.eof if self._zstd is None else self._zstd.eof

    def _inflate(self) -> bytes:
        packed = self._window.peek(_STEP)
        try:
            out = self._gzip.decompress(packed, MAX_OUT)
        except zlib.error as err:
            self._late = StreamFaultError.from_corrupt_gzip(self._window.offset, str(err))
            return self._rescued(packed)
        self._window.skip(len(packed) - len(self._gzip.unused_data) - len(self._gzip.unconsumed_tail))
        if not packed and not out and not self._gzip.eof:
            raise StreamFaultError.from_truncated_gzip(self._window.offset)
        return out

    def _rescued(self, packed: bytes) -> bytes:
        """What the step that failed had unpacked before its fault: zlib drops it, so once more from the member's start, byte by byte at last."""
        window, failed = self._window, self._window.offset
        window.seek(self._begin)
        stream = zlib.decompressobj(wbits=31)
        while window.offset < failed:
            piece = window.peek(min(_STEP, failed - window.offset))
            window.skip(len(piece))
            while piece:
                stream.decompress(piece, MAX_OUT)
                piece = stream.unconsumed_tail
        given = bytearray()
        try:
            for at in range(len(packed)):
                given += stream.decompress(packed[at : at + 1])
        except zlib.error:
            pass
        if not given and self._late is not None:
            raise self._late
        return bytes(given)

    def _unpack(self) -> bytes:
        packed = self._window.peek(ZSTD_CHUNK)
        if not packed:
            raise StreamFaultError.from_truncated_zstd(self._window.offset)
        frame = self._zstd
        if frame is None:
            raise ValueError("not a zstd frame")
        try:
            out = frame.decompress(packed)
        except zstandard.ZstdError as err:
            raise StreamFaultError.from_corrupt_zstd(self._window.offset, str(err)) from err
        self._window.skip(len(packed) - len(frame.unused_data))
        return out
