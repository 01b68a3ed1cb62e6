"""A process that grades chunks for another one until that one hangs up: ``python -m udfs.verifiers.worker CHANNEL MARKER``.

It speaks over the descriptor CHANNEL alone and writes into MARKER which row it is at, so that who waits can tell a row that takes too
long, or that ended this process, from the others.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

from schemas.errors import VerilakeError
from udfs.killpoints import reach
from udfs.verifiers.chunks import Chunk, Tally
from udfs.verifiers.grade_lines import Begin, grade_lines
from udfs.verifiers.registry import ROW_SECONDS, Verifier, verifiers

#: What MARKER holds: the row's index in its chunk, -1 before the first; the seconds that it may take.
MARKER = struct.Struct("<qd")


class Marker:
    """Where a worker is; shared with the process that waits for it."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, MARKER.size)

    def put(self, row: int, seconds: float) -> None:
        """The row that begins now."""
        MARKER.pack_into(self._map, 0, row, seconds)

    def get(self) -> tuple[int, float]:
        """The row that is being graded, and its seconds."""
        row, seconds = MARKER.unpack_from(self._map, 0)
        return row, seconds

    def close(self) -> None:
        """Give the memory back."""
        self._map.close()


def main(channel: int, marker: int) -> None:
    """Grade until the other side hangs up."""
    for descriptor in (channel, marker):
        os.set_inheritable(descriptor, False)  # sandboxes and other helpers must not hold the channel open
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no row
    connection, at = Connection(channel), Marker(marker)
    try:
        settings = json.loads(connection.recv_bytes())
        table = verifiers(allow_weak_sandbox=settings["allow_weak_sandbox"])
        while True:
            head, payload = json.loads(connection.recv_bytes()), connection.recv_bytes()
            said, graded = _answer(head, payload, table, settings, at)
            connection.send_bytes(json.dumps(said).encode())
            connection.send_bytes(graded)
    except (EOFError, ConnectionError):
        return


def _answer(
    head: dict[str, Any], payload: bytes, table: dict[str, Verifier], settings: dict[str, Any], at: Marker
) -> tuple[dict[str, Any], bytes]:
    faults = {int(row): flag for row, flag in head["faults"].items()}
    lost = {int(row): flag for row, flag in head["lost"].items()}
    chunk = Chunk(head["form"], payload, head["places"], faults)

    def begin(row: int, name: object) -> None:
        verifier = table.get(name) if isinstance(name, str) else None
        at.put(row, verifier.seconds if verifier else ROW_SECONDS)
        if name is not None:
            reach("verifiers/row")

    begun = time.perf_counter()
    try:
        graded, tally = _graded(chunk, table, begin, lost, settings)
    except VerilakeError as error:
        return {"refused": str(error), "exit_code": error.exit_code}, b""
    return {**tally.plain(), "seconds": time.perf_counter() - begun}, graded


def _graded(chunk: Chunk, table: dict[str, Verifier], begin: Begin, lost: dict[int, str], settings: dict[str, Any]) -> tuple[bytes, Tally]:
    keep = settings["keep_inputs"]
    if chunk.form == "lines":
        return grade_lines(chunk, table, begin, lost, keep_inputs=keep)
    import pyarrow as pa

    from udfs.verifiers.grade_batch import as_batch, as_lines, grade_batch

    carried, found, tally = grade_batch(chunk, table, begin, lost, keep_inputs=keep)
    if settings["out"] == "lines":
        return as_lines(carried, found), tally
    batch = as_batch(carried, found)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes(), tally


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
