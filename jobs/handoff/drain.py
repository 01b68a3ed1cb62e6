"""Worker processes for a run: started, watched, waited for. Any other launcher may serve the same run at the same time."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from jobs.handoff.command import worker_command
from jobs.handoff.errors import HandoffError
from jobs.handoff.runs import open_shards
from schemas.conf import Work
from udfs.children import child_environment
from udfs.store.run import HandoffRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("verilake.handoff")
_DRAINED, _STOPPED, _DEAD = 0, 4, 5
#: Seconds between two lines of progress.
_EVERY = 5.0


#: Told what is worked on, how many shards have ended, and of how many.
Progress = Callable[[str, int, int], None]


def drain(run: HandoffRun, work: Work, progress: Progress, session: Callable[[], SparkSession] | None = None) -> None:
    """Start workers and wait until every shard has ended; returns at once where all have.

    Workers are processes of their own, here or on a cluster: jobs never import them. They end when this process ends.

    Args:
        run: a planned run.
        work: how many, started by whom, with which interpreter.
        progress: told how many shards have ended.
        session: where launcher spark may start them.

    Raises:
        HandoffError: workers were stopped, refused the run, or left shards that cannot be worked.
    """
    plan, left = run.plan, open_shards(run)
    if not left:
        return _judge(run, _DEAD if run.dead() else _DRAINED, "", "")
    _LOG.info("%s run %s: %d of %d shards open, %d workers", plan.program, plan.run_id[:12], len(left), len(plan.shards), work.workers)
    if work.launcher == "spark" and session is not None:
        from jobs.handoff.spark_launcher import drain_on_spark

        code, said = drain_on_spark(session(), run, work, progress)
        return _judge(run, code, "stderr of the tasks", said)
    return _drain_here(run, work, progress)


def _drain_here(run: HandoffRun, work: Work, progress: Progress) -> None:
    log = run.files.path("logs") / f"workers-{os.getpid()}-{time.time_ns()}.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = worker_command(work.python, run.store.uri, work.workers, socket.gethostname(), work.engine_options.get(run.plan.engine, {}))
    with log.open("wb") as errors, _started(command, errors) as process:
        try:
            _follow(process, run.plan.program, progress)
        finally:
            if process.poll() is None:
                process.terminate()
    lines = log.read_text("utf-8", "replace").splitlines()
    return _judge(run, process.returncode, str(log), lines[-1] if lines else "(empty)")


def _started(command: list[str], errors: IO[bytes]) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=child_environment())
    except OSError as error:
        raise HandoffError.from_interpreter(command[0], str(error)) from error


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


def _judge(run: HandoffRun, code: int, log: str, tail: str) -> None:
    root = run.store.uri
    if code == _DEAD:
        dead = sorted(run.dead())
        letter = run.dead_letter(dead[0]) if dead else None
        raise HandoffError.from_dead(root, dead, letter.reason if letter is not None else "see dead/")
    if code == _STOPPED:
        raise HandoffError.from_stopped(root, len(open_shards(run)))
    if code != _DRAINED:
        raise HandoffError.from_workers(root, code, log, tail)
