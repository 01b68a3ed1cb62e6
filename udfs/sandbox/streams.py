"""What flows between a running program and us: bounded output, a bounded result, requests that may not be read.

Everything is non-blocking and in one loop, so that no program can make us wait: neither by printing without end, nor by reading
nothing, nor by leaving a pipe open in a grandchild.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Protocol

from udfs.sandbox.spec import Limits, Status

CHUNK = 1 << 16


class Watched(Protocol):
    """A running program as this loop sees it: a descriptor that becomes readable when there is news of it."""

    fd: int

    def news(self) -> bool:
        """Take the news; True once the program and everything it started are gone."""

    def kill(self) -> None:
        """Begin to end it; returns at once."""


class Streams:
    """Reads what a program writes, within its limits, and feeds it requests.

    Attributes:
        exceeded: which limit ended the program: ``output_limit``, ``timeout_wall`` or None.
    """

    def __init__(self, limits: Limits, stdout: int, stderr: int, result: int | None, request: int | None) -> None:
        self.limits = limits
        self.exceeded: Status | None = None
        self._printed = {stdout: bytearray(), stderr: bytearray()}
        self._stdout, self._stderr, self._result, self._request = stdout, stderr, result, request
        self._open = {fd for fd in (stdout, stderr, result) if fd is not None}
        self.result = bytearray()
        self._pending = memoryview(b"")
        for fd in self._open | ({request} if request is not None else set()):
            os.set_blocking(fd, False)

    @property
    def printed(self) -> tuple[bytes, bytes]:
        """Stdout and stderr so far."""
        return bytes(self._printed[self._stdout]), bytes(self._printed[self._stderr])

    def request(self, payload: bytes) -> None:
        """Queue bytes for the program; they leave while :meth:`follow` runs."""
        self._pending = memoryview(bytes(self._pending) + payload)

    def follow(self, program: Watched, deadline: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Move bytes until the program is gone (True) or ``until`` holds (False); what exceeds a limit is killed.

        Args:
            program: whom to watch.
            deadline: by the monotonic clock; then the program is killed and ``exceeded`` says ``timeout_wall``.
            until: asked after every piece of the result.
        """
        killed = self.exceeded is not None
        while not until():
            poll = select.poll()
            poll.register(program.fd, select.POLLIN)
            for fd in self._open:
                poll.register(fd, select.POLLIN)
            if self._pending and self._request is not None:
                poll.register(self._request, select.POLLOUT)
            left = deadline - time.monotonic()
            events = poll.poll(1000 if killed else max(0, left * 1000 + 1))
            if not killed and time.monotonic() >= deadline:
                self.exceeded = "timeout_wall"
            for fd, _ in events:
                if fd in self._open:
                    self._read(fd)
                elif fd == self._request:
                    self._write()
            if self.exceeded and not killed:
                killed = True
                program.kill()
            if any(fd == program.fd for fd, _ in events) and program.news():
                self.rest()
                return True
        return False

    def _read(self, fd: int) -> None:
        """Take one piece; beyond the limit it is dropped."""
        try:
            piece = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        if not piece:
            self._open.discard(fd)
            return
        if fd == self._result:
            room = self.limits.result + 4 - len(self.result)
            self.result += piece[: max(0, room)]
        else:
            room = self.limits.output - sum(map(len, self._printed.values()))
            self._printed[fd] += piece[: max(0, room)]
        if len(piece) > room and self.exceeded is None:
            self.exceeded = "output_limit"

    def _write(self) -> None:
        """Send what the program will take now; one that has closed its end gets nothing more."""
        if self._request is None:
            return
        try:
            self._pending = self._pending[os.write(self._request, self._pending[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # EPIPE: it will never read this
            self._pending = memoryview(b"")

    def rest(self) -> None:
        """Take what still lies in the pipes after everybody who could write is gone."""
        for fd in tuple(self._open):
            while fd in self._open:
                before = len(self.result) + sum(map(len, self._printed.values()))
                self._read(fd)
                if fd in self._open and before == len(self.result) + sum(map(len, self._printed.values())):
                    break

    def take(self) -> tuple[bytes, bytes]:
        """Stdout and stderr since the last call of this."""
        printed = self.printed
        self.limits = _less_output(self.limits, sum(map(len, printed)))
        for buffer in self._printed.values():
            buffer.clear()
        return printed

    def close(self) -> None:
        """Close our ends."""
        for fd in {self._stdout, self._stderr, self._result, self._request} - {None}:
            os.close(fd)  # type: ignore[arg-type]  # None is taken out above


def _less_output(limits: Limits, by: int) -> Limits:
    from dataclasses import replace

    return replace(limits, output=max(0, limits.output - by))
