"""Frames between the worker and a program of ours inside the sandbox; joined with the program that uses them, since nothing can be imported there."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from typing import Any


def read_exactly(fd: int, count: int) -> bytes:
    """So many bytes; what was there before the end of the file."""
    data = b""
    while len(data) < count:
        piece = os.read(fd, count - len(data))
        if not piece:
            break
        data += piece
    return data


def write_all(fd: int, data: bytes) -> None:
    """All of it."""
    while data:
        data = data[os.write(fd, data) :]


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer one call after the other until the worker goes away; each answer says which call it is of."""
    requests, results = int(os.environ.pop("REQUEST_FD")), int(os.environ.pop("RESULT_FD"))
    own = os.getpid()
    while len(head := read_exactly(requests, 4)) == 4:
        message = json.loads(read_exactly(requests, struct.unpack(">I", head)[0]))
        number = message.pop("number")
        made = answer(message)
        if os.getpid() != own:  # a child that the policy's code forked, and that came back here: the answer is its parent's to give
            os._exit(0)
        reply = json.dumps({**made, "number": number}).encode("ascii")
        write_all(results, struct.pack(">I", len(reply)) + reply)
