"""Flags that every verb shares, and what they are turned into."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from jobs.config import load_config
from jobs.context import JobContext, JobReport
from jobs.workspace import Workspace
from schemas.ids import canonical_json

WorkspaceFlag = Annotated[Path, typer.Option("--workspace", "-w", envvar="VERILAKE_WORKSPACE", help="Directory of the workspace.")]
ConfFlag = Annotated[list[Path] | None, typer.Option("--conf", help="TOML file with settings; later files win.")]
SetFlag = Annotated[list[str] | None, typer.Option("--set", help="section.key=value; wins over files.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON object as the last line of stdout; everything else on stderr.")]
RoundFlag = Annotated[int, typer.Option("--round", min=1, help="Round, from 1.")]
RestateFlag = Annotated[bool, typer.Option("--restate", help="Replace a slice that is write-once.")]
IngestFlag = Annotated[str | None, typer.Option("--ingest", help="One ingest (id or unique prefix); all where left out.")]
HERE = Path()
_PIPE_WIDTH = 160
#: Parts of a figure that a line about a job names; the ledger holds them all.
_PARTS = 6


@dataclass(frozen=True)
class Output:
    """Where a verb speaks: people on stdout, or on stderr where stdout is for one JSON object."""

    as_json: bool

    @property
    def console(self) -> Console:
        """For people."""
        console = Console(stderr=self.as_json, highlight=False)
        # A pipe or a log file has no width of its own: tables must not be cut to 80 columns there.
        return console if console.is_terminal else Console(stderr=self.as_json, highlight=False, width=_PIPE_WIDTH)

    def result(self, value: Any) -> None:
        """The JSON object of ``--json``; nothing otherwise."""
        if self.as_json:
            sys.stdout.write(canonical_json(value) + "\n")
            sys.stdout.flush()

    def report(self, report: JobReport) -> None:
        """One line about what a job did."""
        self.console.print(describe(report), markup=False)

    def job(self, report: JobReport) -> None:
        """All that a verb says that runs one job: the line, and the object of ``--json``."""
        self.report(report)
        self.result(report_json(report))


def describe(report: JobReport) -> str:
    """``curate ingest=ab12...: 4182 input, kept 3012 ... (12.3 s)``."""
    # As in the ledger, so that a run and its repetition read the same.
    counts = sorted(report.counts.items(), key=lambda item: (item[0] != "input", item[0]))
    what = ", ".join(_figure(name, value) for name, value in counts if value not in ({}, None))
    how = f"({report.seconds:.1f} s)" if report.did else "(nothing to do)"
    return f"{report.job:<16} {shorten(report.scope):<22} {what} {how}"


def shorten(scope: str) -> str:
    """A scope with at most twelve digits of its id."""
    kind, _, value = scope.partition("=")
    return f"{kind}={value[:12]}"


def _figure(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: (-item[1] if isinstance(item[1], int) else 0, item[0]))
        shown = ", ".join(_figure(key, inner) for key, inner in items[:_PARTS])
        return f"{name} ({shown}{', ...' if len(items) > _PARTS else ''})"
    return f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"


def report_json(report: JobReport) -> dict[str, Any]:
    """A report as the value of ``--json``; without times, which differ from run to run."""
    value = asdict(report)
    value.pop("seconds")
    return value


def open_context(workspace: Path, conf: list[Path] | None, overrides: list[str] | None, *, restate: bool = False) -> JobContext:
    """The context of a job verb.

    Raises:
        NotAWorkspaceError: ``workspace`` holds none.
        ConfigError: with all errors at once.
        LakeVersionError: the lake is newer than this verilake.
    """
    opened = Workspace.open(workspace)
    return JobContext(opened, load_config(opened.root, conf or (), overrides or ()), restate=restate)
