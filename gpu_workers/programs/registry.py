"""Which engine serves which program. Modules are imported on demand: an environment need only carry the engine it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.program import Clock, Program
from udfs.store.run import HandoffRun


def utc_now() -> datetime:
    """The host's clock; it fills columns that record time and decides nothing."""
    return datetime.now(UTC)


def _extractive(run: HandoffRun, clock: Clock) -> Program:
    from gpu_workers.programs.convert import ConvertProgram
    from udfs import extract

    return ConvertProgram(run.plan, extract.extract, extract.VERSION, clock)


def _reader(run: HandoffRun, clock: Clock) -> Program:
    from gpu_workers.programs.rollout import ReaderProgram

    return ReaderProgram.load(run.plan, run.policy_folder(), clock)


BUILDERS: Mapping[tuple[str, str], Callable[[HandoffRun, Clock], Program]] = {
    ("convert", "extractive"): _extractive,
    ("rollout", "reader"): _reader,
}


def build_program(run: HandoffRun, options: Mapping[str, str], clock: Clock = utc_now) -> Program:
    """The program of a run, with its engine loaded.

    Args:
        run: a planned run.
        options: options of the engine that belong to this machine; the embedded engines have none.
        clock: for columns that record time.

    Raises:
        RefusedRunError: this worker lacks the engine, its version, or an option.
    """
    plan = run.plan
    build = BUILDERS.get((plan.program, plan.engine))
    if build is None:
        raise RefusedRunError.from_engine(plan.program, plan.engine, [f"{program}/{engine}" for program, engine in BUILDERS])
    if options:
        raise RefusedRunError.from_options(plan.engine, sorted(options))
    return build(run, clock)
