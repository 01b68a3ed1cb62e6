"""Progress of long work: a live line with a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from jobs.cli.common import describe, shorten
from jobs.context import JobReport


class LoopProgress:
    """Watches the stations of the loop."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Progress | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
            self._live = Progress(*columns, console=self._console, transient=True)
            self._live.start()
            self._task = self._live.add_task("starting", total=None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def watch(self, name: str, scope: str, report: JobReport | None) -> None:
        """Called before a station (no report) and after it."""
        if name == "round" and report is None:
            self._console.print(f"{scope} is closed (nothing to do)", markup=False)
        elif report is None and self._live is not None:
            # An unknown length: the bar pulses until a station knows its shards.
            self._live.reset(self._task, description=f"{name} {shorten(scope)}", total=None)
        elif report is not None:
            self._console.print(describe(report), markup=False, soft_wrap=True)

    def shards(self, what: str, ended: int, total: int) -> None:
        """Within a station: shards that workers have ended, of how many."""
        if self._live is not None:
            self._live.update(self._task, description=f"{what}: {ended} of {total} shards", completed=ended, total=total)
