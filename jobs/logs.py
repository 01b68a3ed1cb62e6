"""Structured logs: every line carries the id of the run that wrote it, as the ledger does."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar

#: Set by the context of a job; ``-`` before there is one.
RUN_ID: ContextVar[str] = ContextVar("verilake_run_id", default="-")


class _WithRun(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.run = RUN_ID.get()
        return True


class _JsonLines(logging.Formatter):
    """One JSON object a line: what log collectors read."""

    def format(self, record: logging.LogRecord) -> str:
        value = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"), "level": record.levelname, "run": getattr(record, "run", "-"),
            "logger": record.name, "message": record.getMessage(),
        }  # fmt: skip
        return json.dumps(value, ensure_ascii=False)


def set_up_logging(level: str, *, as_json_lines: bool) -> None:
    """Logs go to stderr, never to stdout; ``level`` counts for verilake, other libraries speak from WARNING on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_WithRun())
    plain = logging.Formatter("%(asctime)s %(levelname)s run=%(run)s %(name)s: %(message)s", "%H:%M:%S")
    handler.setFormatter(_JsonLines() if as_json_lines else plain)
    root = logging.getLogger("verilake")
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
