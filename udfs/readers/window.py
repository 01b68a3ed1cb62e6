"""Bytes ahead of a place in a stream, looked at before they are taken, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import BinaryIO

from udfs.readers.streams import CHUNK, StreamFaultError

#: Bytes that a search keeps when it goes on, so that nothing is missed where two pieces meet.
OVERLAP = 256
#: Bytes behind the place that are dropped together; dropping each time would move the rest each time.
_DROP = 1 << 20


class Window:
    """A stream from a place on; the place only moves forward, unless the stream is a file.

    A stream that breaks ends here, after its last good byte; ``fault`` then says why.

    Attributes:
        offset: the place, in bytes from the start of the stream.
        fault: why the stream ended before its end.
    """

    def __init__(self, read: Callable[[int], bytes], file: BinaryIO | None = None) -> None:
        self.offset = 0
        self.fault: StreamFaultError | None = None
        self._read, self._file = read, file
        self._held = bytearray()
        self._at = 0
        self._ended = False

    @classmethod
    def of_file(cls, file: BinaryIO) -> Window:
        """Over a file, which it may move about in."""
        window = cls(file.read, file)
        window.seek(0)
        return window

    @property
    def ahead(self) -> int:
        """Bytes that lie ready."""
        return len(self._held) - self._at

    def fill(self, count: int) -> bool:
        """Get ``count`` bytes ready; False where the stream ends before."""
        while self.ahead < count and not self._ended:
            try:
                piece = self._read(max(CHUNK, count - self.ahead) if self._file is not None else CHUNK)
            except StreamFaultError as fault:
                self.fault, piece = fault, b""
            if not piece:
                self._ended = True
            self._held += piece
        return self.ahead >= count

    def peek(self, count: int, start: int = 0) -> bytes:
        """Up to ``count`` bytes from ``start`` bytes ahead of the place."""
        self.fill(start + count)
        return bytes(self._held[self._at + start : self._at + start + count])

    def skip(self, count: int) -> int:
        """Move on by up to ``count`` bytes, of which none is held; how many there were."""
        gone = 0
        while gone < count and self.fill(1):
            step = min(count - gone, self.ahead)
            self._advance(step)
            gone += step
        return gone

    def seek(self, offset: int) -> None:
        """Go anywhere; only over a file."""
        if self._file is None:
            raise ValueError("a stream cannot go back")
        self._file.seek(max(0, offset - 1))
        self._held.clear()
        self.offset, self._at, self._ended = max(0, offset - 1), 0, False
        # The byte before the place says whether a line begins here.
        self.skip(offset - self.offset)

    def index(self, pattern: re.Pattern[bytes], limit: int) -> tuple[int, int] | None:
        """Where ``pattern`` matches within ``limit`` bytes ahead: start and end from the place."""
        for reach in (min(limit, 2048), limit):
            self.fill(reach)
            found = pattern.search(self._held, self._at, self._at + reach)
            if found is not None:
                return found.start() - self._at, found.end() - self._at
            if self.ahead < reach:
                break
        return None

    def holds(self, pattern: re.Pattern[bytes], start: int, count: int) -> bool:
        """Whether ``pattern`` matches within ``count`` bytes from ``start`` bytes ahead, all of which lie ready."""
        return pattern.search(self._held, self._at + start, self._at + start + count) is not None

    def find(self, pattern: re.Pattern[bytes], accept: Callable[[Window], bool], stop: int | None = None) -> bool:
        """Move to the next place where ``pattern`` matches and ``accept`` agrees, before ``stop``; else to the stream's end (or beyond stop)."""
        while True:
            self.fill(CHUNK)
            found = pattern.search(self._held, self._at)
            start = None if found is None else found.start() - self._at
            del found  # it would forbid the buffer to shrink
            if start is None:
                if self._ended:
                    self._advance(self.ahead)
                    return False
                self._advance(max(0, self.ahead - OVERLAP))
                start = 0
            else:
                self._advance(start)
                if stop is not None and self.offset >= stop:
                    return False
                if accept(self):
                    return True
                self._advance(1)
            if stop is not None and self.offset >= stop:
                return False

    def _advance(self, count: int) -> None:
        self._at += count
        self.offset += count
        if self._at > _DROP and self._at > len(self._held) // 2:
            del self._held[: self._at - 1]
            self._at = 1
