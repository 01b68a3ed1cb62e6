"""What the process and its launcher say to each other: an order with everything that one run needs, and the word of its end.

An order travels in a sealed memory file (JSON, then the bytes of all files), because messages are small; descriptors travel beside it.
The launcher must start quickly: these modules import little.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import asdict, dataclass, field
from typing import Any

_HEAD = struct.Struct("=Q")
#: Descriptors of a program: 0, 1, 2 as ever.
RESULT_FD, REQUEST_FD = 3, 4
#: What the supervisor says first on the control socket; its ending comes as a descriptor. Whoever asked says nothing: it closes its half of
#: the socket to have the run ended. (A word that nobody reads any more would turn the ending that waits on the other side into an error.)
STARTED = b"started"


@dataclass(slots=True)
class Order:
    """One run, as the launcher needs it. Sizes in bytes, times in seconds.

    Attributes:
        files: (path, size) of the files whose bytes follow.
        keep: paths to bring back, ``keep_bytes`` of them at most.
        backup: after so long the launcher ends the run by itself, should the process that asked be stopped.
    """

    tier: str
    argv: list[str]
    env: dict[str, str]
    cpu: float
    memory: int
    pids: int
    file_size: int
    open_files: int
    disk: int
    backup: float
    result: bool
    request: bool
    keep: list[str]
    keep_bytes: int
    files: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class Ending:
    """How a run ended, as far as the operating system knows.

    Attributes:
        returncode: None where a signal ended the program.
        signal: None where none did.
        cpu: seconds of all its processes together.
        max_rss: bytes of its largest process.
        oom: processes that the memory bound of the whole run killed.
        pids: how often a process was refused by the bound of the whole run.
        error: what went wrong on our side.
        kept: (path, size) of the files whose bytes follow.
    """

    returncode: int | None = None
    signal: int | None = None
    cpu: float = 0.0
    max_rss: int = 0
    oom: int = 0
    pids: int = 0
    error: str | None = None
    kept: list[tuple[str, int]] = field(default_factory=list)


def pack(value: Order | Ending, contents: list[bytes]) -> int:
    """A sealed memory file with the value and what follows it; the caller closes it."""
    head = json.dumps(asdict(value), ensure_ascii=True).encode()
    return memory_file("order", [_HEAD.pack(len(head)), head, *contents])


def unpack_order(fd: int) -> tuple[Order, list[bytes]]:
    """The inverse of :func:`pack` for an order."""
    head, rest = _split(fd)
    order = Order(**head)
    return order, _cut(rest, [size for _, size in order.files])


def unpack_ending(fd: int) -> tuple[Ending, dict[str, bytes]]:
    """The inverse of :func:`pack` for an ending: with the kept files by path."""
    head, rest = _split(fd)
    ending = Ending(**head)
    contents = _cut(rest, [size for _, size in ending.kept])
    return ending, {name: content for (name, _), content in zip(ending.kept, contents, strict=True)}


def memory_file(name: str, parts: list[bytes]) -> int:
    """Bytes in a file that lies in memory alone, read from its start, never to be changed; raises OSError."""
    import fcntl

    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        for part in parts:
            view = memoryview(part)
            while view:
                view = view[os.write(fd, view) :]
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        os.lseek(fd, 0, os.SEEK_SET)
    except OSError:
        os.close(fd)
        raise
    return fd


def _split(fd: int) -> tuple[dict[str, Any], memoryview]:
    with os.fdopen(os.dup(fd), "rb") as file:
        everything = memoryview(file.read())
    (size,) = _HEAD.unpack(everything[: _HEAD.size])
    start = _HEAD.size + size
    return json.loads(bytes(everything[_HEAD.size : start])), everything[start:]


def _cut(rest: memoryview, sizes: list[int]) -> list[bytes]:
    out, at = [], 0
    for size in sizes:
        out.append(bytes(rest[at : at + size]))
        at += size
    return out
