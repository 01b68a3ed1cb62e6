"""One grading process, seen from the one that feeds it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from udfs.children import child_environment
from udfs.verifiers.chunks import Chunk
from udfs.verifiers.task import MARKER, Marker

#: Seconds that a process may take to end by itself once nobody speaks to it any more.
PATIENCE = 0.5
#: Seconds before the first row of a chunk: starting, importing, decoding.
BEFORE_FIRST = 120.0


class GradingProcess:
    """A started worker with its channel; it grades one chunk at a time."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile(prefix="verilake-") as shared:
            shared.write(bytes(MARKER.size))
            shared.flush()
            self._marker = Marker(shared.fileno())
            descriptors = (theirs.fileno(), shared.fileno())
            # -P: not the folder that the user stands in; a session of its own: an interrupt at the terminal reaches only the command
            command = [sys.executable, "-P", "-m", "udfs.verifiers.worker", *map(str, descriptors)]
            self._process = subprocess.Popen(
                command,
                pass_fds=descriptors,
                env=child_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.connection = Connection(ours.detach())
        self.connection.send_bytes(json.dumps(dict(settings)).encode())
        self.chunk: tuple[int, Chunk] | None = None
        self._seen: tuple[int, float] = (-1, 0.0)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def send(self, ordinal: int, chunk: Chunk, lost: Mapping[int, str]) -> None:
        """Give it a chunk to grade; a process that is gone is noticed when its answer is waited for."""
        self.chunk, self._seen = (ordinal, chunk), (-1, time.monotonic())
        self._marker.put(-1, BEFORE_FIRST)
        head = {
            "form": chunk.form,
            "places": list(chunk.places),
            "faults": dict(chunk.faults),
            "lost": dict(lost),
            "notes": list(chunk.notes),
        }
        try:
            self.connection.send_bytes(json.dumps(head).encode())
            self.connection.send_bytes(chunk.payload)
        except ConnectionError:
            return

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """What became of the chunk.

        Raises:
            EOFError, ConnectionError: the process is gone.
        """
        head = json.loads(self.connection.recv_bytes())
        payload = self.connection.recv_bytes()
        self.chunk = None
        return head, payload

    @property
    def row(self) -> int:
        """Index in its chunk of the row that it is at; -1 before the first."""
        return self._marker.get()[0]

    def overdue(self) -> bool:
        """Whether it has been at one row for longer than that row may take."""
        row, seconds = self._marker.get()
        now = time.monotonic()
        if row != self._seen[0]:
            self._seen = (row, now)
        return now - self._seen[1] > seconds

    def end(self, *, at_once: bool = False) -> int:
        """Hang up; a process that does not end by itself is killed. When this returns, it is gone.

        Returns:
            Its exit code; negative where a signal ended it.
        """
        self.connection.close()
        try:
            if at_once:
                self._process.kill()
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._marker.close()
        return code
