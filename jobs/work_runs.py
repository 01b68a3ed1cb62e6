"""work_runs: drain every open hand-off run, here or as a stage of a Spark cluster; a job elsewhere takes in what workers commit."""

from __future__ import annotations

from jobs.context import JobContext
from jobs.handoff.drain import drain
from jobs.handoff.runs import chosen_runs
from jobs.session import build_session


def run(ctx: JobContext, program: str | None = None, prefix: str | None = None) -> list[str]:
    """Drain.

    Args:
        ctx: context; a session is built only where ``work.launcher`` asks for one.
        program: runs of this program alone; of every one where None.
        prefix: the run whose id begins so.

    Returns:
        Ids of the runs that were drained.

    Raises:
        UnknownRunError: no run, or more than one, begins so.
        HandoffError: a run could not be drained.
    """
    wanted = [held for held in chosen_runs(ctx.workspace.handoff_root, prefix) if program in {None, held.plan.program}]
    for held in wanted:
        drain(held, ctx.config.work, ctx.progress, lambda: ctx.session or build_session(ctx.config))
    return [held.plan.run_id for held in wanted]


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("work")
