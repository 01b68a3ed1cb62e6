"""A process that grades (or probes) chunks for another one until that one hangs up: ``python -m udfs.verifiers.worker CHANNEL MARKER``.

It speaks over the descriptor CHANNEL alone and writes into MARKER which row it is at, so that who waits can tell a row that takes too
long, or that ended this process, from the others.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from schemas.errors import VerilakeError
from udfs.verifiers.chunks import Chunk
from udfs.verifiers.task import Marker, Task

#: Task -> the module whose ``start(settings)`` makes it; imported by the process that does it.
TASKS = {"grade": "udfs.verifiers.grade_chunk", "check_qa": "udfs.probes.check_chunk"}


def main(channel: int, marker: int) -> None:
    """Answer chunks until the other side hangs up."""
    for descriptor in (channel, marker):
        os.set_inheritable(descriptor, False)  # sandboxes and other helpers must not hold the channel open
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no row
    connection, at = Connection(channel), Marker(marker)
    try:
        settings = json.loads(connection.recv_bytes())
        task: Task = import_module(TASKS[settings["task"]]).start(settings)
        while True:
            head, payload = json.loads(connection.recv_bytes()), connection.recv_bytes()
            said, answers = _answer(head, payload, task, at)
            connection.send_bytes(json.dumps(said).encode())
            connection.send_bytes(answers)
    except (EOFError, ConnectionError):
        return


def _answer(head: dict[str, Any], payload: bytes, task: Task, at: Marker) -> tuple[dict[str, Any], bytes]:
    faults = {int(row): flag for row, flag in head["faults"].items()}
    lost = {int(row): flag for row, flag in head["lost"].items()}
    chunk = Chunk(head["form"], payload, head["places"], faults, head["notes"])
    begun = time.perf_counter()
    try:
        answers, counts = task(chunk, at, lost)
    except VerilakeError as error:
        return {"refused": str(error), "exit_code": error.exit_code}, b""
    return {**counts, "seconds": time.perf_counter() - begun}, answers


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
