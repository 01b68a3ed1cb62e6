"""Structured log: one JSON object a line on stderr; every line carries run and worker."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any


class Log:
    """Writes events of one worker in one run."""

    def __init__(self, run_id: str, worker_id: str) -> None:
        self._fixed = {"run_id": run_id, "worker_id": worker_id}

    def event(self, name: str, *, level: str = "info", **fields: Any) -> None:
        """One line; a single write, so that lines of several processes do not mix."""
        line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, "event": name, **self._fixed, **fields}
        sys.stderr.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        sys.stderr.flush()


def report(event: str, **fields: Any) -> None:
    """One line of progress on stdout, for the process that started this one."""
    sys.stdout.write(json.dumps({"event": event, **fields}, ensure_ascii=False) + "\n")
    sys.stdout.flush()
