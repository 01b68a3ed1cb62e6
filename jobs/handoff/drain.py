"""Worker processes for a run, on this machine: started, watched, waited for. Any other launcher may serve the same run at the same time."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import schemas
from jobs.handoff.errors import HandoffError
from schemas.conf import Work
from udfs.store.run import HandoffRun

_LOG = logging.getLogger("verilake.handoff")
_DRAINED, _STOPPED, _DEAD = 0, 4, 5
#: Seconds between two lines of progress.
_EVERY = 5.0


#: Told what is worked on, how many shards have ended, and of how many.
Progress = Callable[[str, int, int], None]


def drain(run: HandoffRun, work: Work, progress: Progress) -> None:
    """Start workers and wait until every shard has ended; returns at once where all have.

    Workers are started by ``python -m gpu_workers``, in processes of their own: jobs never import them. They end when this
    process ends.

    Raises:
        HandoffError: workers were stopped, refused the run, or left shards that cannot be worked.
    """
    plan, left = run.plan, _left(run)
    if not left:
        return _judge(run, _DEAD if run.dead() else _DRAINED, None)
    _LOG.info("%s run %s: %d of %d shards open, %d workers", plan.program, plan.run_id[:12], len(left), len(plan.shards), work.workers)
    log = run.files.path("logs") / f"workers-{os.getpid()}-{time.time_ns()}.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "gpu_workers", "--run", run.store.uri, "--workers", str(work.workers)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [*command, "--worker-id", "local", "--parent", str(os.getpid())],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=_environment(),
        ) as process,
    ):
        try:
            _follow(process, plan.program, progress)
        finally:
            if process.poll() is None:
                process.terminate()
    return _judge(run, process.returncode, log)


def open_runs(folder: Path) -> list[HandoffRun]:
    """Planned runs below ``handoff/<program>`` that still have open shards, in order of their names."""
    planned = [HandoffRun(path) for path in sorted(folder.glob("run=*")) if (path / "plan" / "plan.json").is_file()]
    return [run for run in planned if _left(run)]


def _left(run: HandoffRun) -> set[str]:
    return set(run.plan.shards) - run.committed() - run.dead()


def _environment() -> dict[str, str]:
    """This process's, with the place of the rooms on the path: a checkout, an installation or the zip."""
    root = str(Path(schemas.__file__).parents[1])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{path}" if path else root}


def _follow(process: subprocess.Popen[str], program: str, progress: Progress) -> None:
    """Turn the workers' lines into lines of progress."""
    assert process.stdout is not None  # noqa: S101  # it was asked for
    rows, failed, said = 0, 0, 0.0
    for line in process.stdout:
        event = _event(line)
        if event is None:
            _LOG.debug("%s: %s", program, line.rstrip())
            continue
        rows += event["rows"]
        progress(program, event["ended"], event["total"])
        failed += sum(event["failures"].values())
        if event["event"] == "dead_letter":
            _LOG.warning("%s: shard %s gave up; see dead/ in its run", program, event["shard"])
        if time.monotonic() - said >= _EVERY or event["ended"] == event["total"]:
            said = time.monotonic()
            _LOG.info("%s: %d of %d shards, %d rows, %d failed", program, event["ended"], event["total"], rows, failed)
    process.wait()


def _event(line: str) -> dict[str, Any] | None:
    """A worker's line of progress; None for what an engine's library prints."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "rows" in event else None


def _judge(run: HandoffRun, code: int, log: Path | None) -> None:
    root = run.store.uri
    if code == _DEAD:
        dead = sorted(run.dead())
        letter = run.dead_letter(dead[0]) if dead else None
        raise HandoffError.from_dead(root, dead, letter.reason if letter is not None else "see dead/")
    if code == _STOPPED:
        raise HandoffError.from_stopped(root, len(_left(run)))
    if code != _DRAINED:
        lines = log.read_text("utf-8", "replace").splitlines() if log is not None else []
        raise HandoffError.from_workers(root, code, str(log), lines[-1] if lines else "(empty)")
