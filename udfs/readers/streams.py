"""Decompression in bounded memory that gives every byte before a fault, and then says what the fault was."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO, Literal

import zstandard

from udfs.readers.record import ReasonedError

Compression = Literal["none", "gzip", "zstd"]

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
#: Bytes read at once, and the most that one step of gzip gives out.
CHUNK = 1 << 16
MAX_OUT = 1 << 20
#: zstd has no bound on the output of one step; 512 bytes hold at most 128 blocks of 128 KiB, so 16 MiB.
ZSTD_CHUNK = 512
#: A stream is a bomb once it has given more than ``BOMB_FLOOR + BOMB_RATIO * bytes read``. Text packs 3 to 12 times; deflate's limit is 1032.
BOMB_FLOOR = 1 << 26
BOMB_RATIO = 200


class StreamFaultError(ReasonedError):
    """A compressed stream that breaks off or is damaged; everything before it has been given out."""

    @classmethod
    def from_truncated_gzip(cls, offset: int) -> StreamFaultError:
        """The file ends within a member."""
        return cls("truncated_gzip", f"the file ends at byte {offset} within a gzip member")

    @classmethod
    def from_corrupt_gzip(cls, offset: int, words: str) -> StreamFaultError:
        """Zlib refuses the bytes, or a checksum does not hold."""
        return cls("corrupt_gzip", f"near byte {offset}: {words}; the last lines before this may be damaged, the rest was not read")

    @classmethod
    def from_truncated_zstd(cls, offset: int) -> StreamFaultError:
        """The file ends within a frame."""
        return cls("truncated_zstd", f"the file ends at byte {offset} within a zstd frame")

    @classmethod
    def from_corrupt_zstd(cls, offset: int, words: str) -> StreamFaultError:
        """The decompressor refuses the bytes, or a checksum does not hold."""
        return cls("corrupt_zstd", f"near byte {offset}: {words}; the last lines before this may be damaged, the rest was not read")

    @classmethod
    def from_bomb(cls, read: int, given: int) -> StreamFaultError:
        """Implausibly much came out."""
        return cls("compression_bomb", f"{read} bytes unpack to more than {given}; the rest was not read")


class _Guard:
    """Counts what went in and what came out."""

    def __init__(self) -> None:
        self.read = 0
        self.given = 0

    def count(self, out: bytes) -> bytes:
        self.given += len(out)
        if self.given > BOMB_FLOOR + BOMB_RATIO * self.read:
            raise StreamFaultError.from_bomb(self.read, self.given)
        return out


def decompress(file: BinaryIO, compression: Compression) -> Iterator[bytes]:
    """Non-empty pieces of the unpacked stream; many gzip members or zstd frames after each other are one stream.

    Raises:
        StreamFaultError: after the last good byte, where the stream is truncated, damaged or a bomb.
    """
    if compression == "gzip":
        yield from _gunzip(file)
    elif compression == "zstd":
        yield from _unzstd(file)
    else:
        while chunk := file.read(CHUNK):
            yield chunk


def _gunzip(file: BinaryIO) -> Iterator[bytes]:
    guard = _Guard()
    member = zlib.decompressobj(wbits=31)
    begun = False  # whether the present member has seen a byte
    pending = b""
    while True:
        if not pending:
            pending = file.read(CHUNK)
            guard.read += len(pending)
            if not pending:
                break
        if not begun:
            # Padding with zeros after a member is allowed (tar and block devices leave it).
            pending = pending.lstrip(b"\0")
            if not pending:
                continue
            begun = True
        before = member.copy()
        try:
            out = member.decompress(pending, MAX_OUT)
        except zlib.error as err:
            # zlib drops what this step had already unpacked: once more from the state before it, byte by byte.
            yield from _up_to_fault(before, pending, guard)
            raise StreamFaultError.from_corrupt_gzip(guard.read - len(pending), str(err)) from err
        if out:
            yield guard.count(out)
        if member.eof:
            pending = member.unused_data
            member = zlib.decompressobj(wbits=31)
            begun = False
        else:
            pending = member.unconsumed_tail
    if begun:
        while rest := member.decompress(b"", MAX_OUT):
            yield guard.count(rest)
        if not member.eof:
            raise StreamFaultError.from_truncated_gzip(guard.read)


def _up_to_fault(member: zlib._Decompress, pending: bytes, guard: _Guard) -> Iterator[bytes]:
    given = bytearray()
    for at in range(len(pending)):
        try:
            given += member.decompress(pending[at : at + 1])
        except zlib.error:
            break
        if len(given) >= MAX_OUT:
            yield guard.count(bytes(given))
            given.clear()
    if given:
        yield guard.count(bytes(given))


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    guard = _Guard()
    frame = zstandard.ZstdDecompressor().decompressobj()
    begun = False
    pending = b""
    while True:
        if not pending:
            pending = file.read(ZSTD_CHUNK)
            guard.read += len(pending)
            if not pending:
                break
        begun = True
        try:
            out = frame.decompress(pending)
        except zstandard.ZstdError as err:
            raise StreamFaultError.from_corrupt_zstd(guard.read - len(pending), str(err)) from err
        pending = b""
        if frame.eof:
            pending = frame.unused_data
            frame = zstandard.ZstdDecompressor().decompressobj()
            begun = False
        if out:
            yield guard.count(out)
    if begun:
        raise StreamFaultError.from_truncated_zstd(guard.read)
