"""Choose the round, collect what the page says, and put the file in its place."""

from __future__ import annotations

from pathlib import Path

from jobs.files import put
from jobs.report.content import collect
from jobs.report.rounds import closed_rounds
from jobs.views.reader import LakeReader
from jobs.workspace import Workspace
from schemas.errors import VerilakeError


class ReportError(VerilakeError):
    """There is nothing to report on."""

    exit_code = 3

    @classmethod
    def from_round(cls, round_no: int | None, closed: list[int]) -> ReportError:
        """The round is not closed, or none is."""
        if not closed:
            return cls("no round is closed yet, so there is nothing to report on. Close one with: verilake run")
        return cls(
            f"round {round_no} is not closed; rounds {closed[0]} to {closed[-1]} are. "
            f"`verilake status` says what round {round_no} waits for."
        )


class ReportTargetError(VerilakeError):
    """The file cannot be written where it was asked for."""

    exit_code = 2

    @classmethod
    def from_directory(cls, target: Path) -> ReportTargetError:
        """The target is a directory."""
        return cls(f"{target} is a directory; name the HTML file to write, for example {target / 'round.html'}")


def default_target(workspace: Workspace, round_no: int) -> Path:
    """Where a round's report lies unless the caller says otherwise."""
    return workspace.root / "reports" / f"round-{round_no}.html"


def write_report(workspace: Workspace, round_no: int | None = None, target: Path | None = None) -> Path:
    """Write the report of a closed round; needs no JVM.

    The bytes depend on the lake, the workspace's pins and the campaign's name alone: no clock, no path, no host.

    Args:
        workspace: where.
        round_no: a closed round; the newest one where None.
        target: HTML file to write, replaced as a whole; ``reports/round-N.html`` of the workspace where None.

    Returns:
        The file.

    Raises:
        NoLakeError: the workspace holds no lake.
        ReportError: the round is not closed.
        ReportTargetError: the target is a directory.
        ConfigError: the workspace's settings are wrong.
    """
    from jobs.report.page import render  # the template engine is needed here alone

    reader = LakeReader.open(workspace)
    closed = closed_rounds(reader)
    wanted = round_no if round_no is not None else closed[-1] if closed else None
    if wanted is None or wanted not in closed:
        raise ReportError.from_round(wanted, closed)
    path = target or default_target(workspace, wanted)
    if path.is_dir():
        raise ReportTargetError.from_directory(path)
    page = render(collect(workspace, reader, wanted))
    put(path, page.encode())
    return path
