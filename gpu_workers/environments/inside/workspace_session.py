"""Runs inside the sandbox: lists, reads and writes files below its working directory and runs commands there."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import subprocess
import time
from typing import Any

from gpu_workers.environments.inside.frames import serve

#: Bytes kept of a file or of what a command prints; files listed.
KEPT, LISTED = 60_000, 1_000
#: Where it was started; no command of the policy moves this process.
HOME = os.path.realpath(os.getcwd())  # noqa: PTH109


def list_files(home: str) -> dict[str, Any]:
    """Paths and sizes, in order."""
    lines: list[str] = []
    count = 0
    for folder, folders, names in os.walk(home):
        folders.sort()
        for name in sorted(names):
            count += 1
            if len(lines) < LISTED:
                path = os.path.join(folder, name)  # noqa: PTH118 - pathlib takes a third of the interpreter's start
                size = os.lstat(path).st_size
                lines.append(f"{os.path.relpath(path, home)}\t{size}")
    return {"out": "\n".join(lines) or "(no files)", "dropped": 0, "error": None, "unlisted": count - len(lines)}


def place(home: str, path: str) -> str:
    """The path of a file below the working directory; raises ValueError where it lies elsewhere, also by way of links."""
    whole = os.path.realpath(os.path.join(home, path))  # noqa: PTH118
    if whole != home and not whole.startswith(home + "/"):
        raise ValueError(f"{path}: not below the working directory")
    return whole


def read_file(home: str, path: str) -> dict[str, Any]:
    """The beginning of a file, as text."""
    fd = os.open(place(home, path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)  # a FIFO would wait for its writer
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path}: not a plain file")
        data = file.read(KEPT)
    return {"out": data.decode("utf-8", "replace"), "dropped": max(0, found.st_size - len(data)), "error": None}


def write_file(home: str, path: str, content: str) -> dict[str, Any]:
    """Write a file whole, with the folders above it."""
    whole = place(home, path)
    os.makedirs(os.path.dirname(whole), exist_ok=True)  # noqa: PTH103, PTH120
    data = content.encode("utf-8")
    fd = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o644)  # a FIFO would wait for its reader
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    return {"out": f"{len(data)} bytes written", "dropped": 0, "error": None}


def run(home: str, command: str, seconds: float) -> dict[str, Any]:
    """Run a command in a shell; what it leaves behind in the background is left to the end of the episode, but not waited for."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    if process.stdout is None:
        raise OSError("no pipe")
    with process.stdout as out:
        kept, dropped = _follow(process, out.fileno(), time.monotonic() + seconds)
    late = process.poll() is None
    if late:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    return {"out": kept.decode("utf-8", "replace"), "dropped": dropped, "error": None, "code": None if late else code}


def _follow(process: subprocess.Popen[bytes], fd: int, deadline: float) -> tuple[bytes, int]:
    """What is printed until the command itself has ended, and how much was not kept."""
    os.set_blocking(fd, False)
    kept, dropped, there = b"", 0, True
    while (left := deadline - time.monotonic()) > 0:
        ended = process.poll() is not None
        if there and select.select([fd], [], [], 0 if ended else min(left, 0.05))[0]:
            piece = os.read(fd, 1 << 16)
            there = bool(piece)
            room = KEPT - len(kept)
            kept, dropped = kept + piece[:room], dropped + max(0, len(piece) - room)
        elif ended:
            break
        elif not there:
            time.sleep(0.01)
    return kept, dropped


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """One call; what goes wrong is told."""
    try:
        name = message.pop("call")
        if name == "list_files":
            return list_files(HOME)
        if name == "read_file":
            return read_file(HOME, **message)
        if name == "write_file":
            return write_file(HOME, **message)
        return run(HOME, **message)
    except (OSError, ValueError) as error:
        # Where the workspace lies is another place in every run of a weaker tier, and nothing to learn.
        return {"out": "", "dropped": 0, "error": f"{type(error).__name__}: {error}".replace(f"{HOME}/", "")}


def main() -> None:
    """Serve one episode."""
    serve(answer)


if __name__ == "__main__":
    main()
