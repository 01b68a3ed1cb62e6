"""Exclusive locks on a local or shared file system.

Two JVMs can lose a Delta commit silently on a local file system: of 10,000 simultaneous put-if-absent calls 4 had two winners
(L§6.1). So a writer holds an exclusive lock from snapshot to commit, and a job holds one for its scope, so that a second copy waits
and then finds the work done.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOG = logging.getLogger("verilake.locks")


@contextmanager
def exclusive(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock ``name``; waits for another holder and says who it is. Released by the kernel when the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r"[^A-Za-z0-9._=-]", "_", name) + ".lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 500, 0).decode("utf-8", "replace").strip()
            _LOG.info("waiting for %s, held by %s", name, holder or "another process")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        yield
    finally:
        os.close(descriptor)
