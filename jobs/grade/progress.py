"""How far a grading is: a bar on a terminal, now and then a plain line elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

#: Seconds between two plain lines.
EVERY = 30.0


class GradeProgress:
    """Tells rows and share of the file."""

    def __init__(self, console: Console, name: str, *, rows_on_stdout: bool) -> None:
        self._console, self._name = console, name
        # a bar between the rows of a terminal would be in nobody's interest
        self._quiet = rows_on_stdout and sys.stdout.isatty()
        self._live: Progress | None = None
        self._said = self._begun = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._quiet:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            self._live = Progress(*columns, console=self._console, transient=True, redirect_stdout=False)
            self._live.start()
            self._task = self._live.add_task(self._name, total=1.0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def tell(self, rows: int, share: float) -> None:
        """Rows graded, and the share of the file that has been read."""
        now = time.monotonic()
        if self._live is not None:
            rate = rows / max(1e-9, now - self._begun)
            self._live.update(self._task, completed=share, description=f"{self._name}: {rows:,} rows, {rate:,.0f}/s")
        elif now - self._said >= EVERY and not self._quiet:
            self._said = now
            self._console.print(f"{self._name}: {rows:,} rows, {share:.0%} of the file read", markup=False)
