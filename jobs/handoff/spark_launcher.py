"""Workers on a Spark cluster: a stage of one task a worker, each of which starts ``python -m gpu_workers`` as a child and ends it by its id.

Spark places the tasks and hands out GPUs; it does nothing else. A task that Spark starts twice, or again elsewhere, does no harm:
leases keep two workers apart, and the first commit wins. No barrier: a worker that is lost is lost alone.
"""

from __future__ import annotations

import logging
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.handoff.command import worker_command
from jobs.handoff.errors import HandoffError
from jobs.handoff.runs import open_shards
from schemas.conf import Work
from udfs.children import child_environment
from udfs.store.run import HandoffRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger("verilake.handoff")
_ENDED = "worker_id string, code int, said string"
#: Seconds between two looks at how far the run is, and those that a child gets to finish its item when its task ends.
_EVERY, _GRACE = 1.0, 30.0


def drain_on_spark(session: SparkSession, run: HandoffRun, work: Work, progress: Callable[[str, int, int], None]) -> tuple[int, str]:
    """Run a stage of workers until each has ended.

    Args:
        session: where; every node must see the run's directory under the same path.
        run: a planned run with open shards.
        work: number of workers, their interpreter, GPUs of each.
        progress: told how many shards have ended.

    Returns:
        The worst exit code, and the last line that a worker with this code logged.

    Raises:
        HandoffError: Spark gave the stage up.
    """
    from pyspark.errors import PySparkException

    tasks = min(work.workers, max(1, len(open_shards(run))))
    _LOG.info("%s run %s: %d workers as tasks of a stage", run.plan.program, run.plan.run_id[:12], tasks)
    start = partial(_work, root=run.store.uri, python=work.python, options=work.engine_options.get(run.plan.engine, {}))
    stage = session.range(0, tasks, 1, tasks).mapInArrow(start, _ENDED, profile=_profile(work))
    told = threading.Event()
    follower = threading.Thread(target=_follow, args=(run, progress, told), name="handoff-progress", daemon=True)
    follower.start()
    try:
        ended = stage.collect()
    except PySparkException as error:
        raise HandoffError.from_stage(run.store.uri, str(error).splitlines()[0]) from error
    except Exception as error:  # py4j's own kind has no place in the types
        if type(error).__module__.startswith("py4j"):
            raise HandoffError.from_stage(run.store.uri, str(error).splitlines()[0]) from error
        raise
    finally:
        told.set()
        follower.join()
    worst = max(ended, key=lambda row: _RANK.get(row["code"], len(_RANK)))
    return int(worst["code"]), str(worst["said"])


#: Drained, stopped, dead letters; anything else is worse.
_RANK = {0: 0, 4: 1, 5: 2}


def _profile(work: Work) -> Any:
    """What each task asks for beyond a core; None where no GPU is wanted, so that any scheduler will do."""
    if not work.gpus:
        return None
    from pyspark.resource import ResourceProfileBuilder, TaskResourceRequests

    wanted = TaskResourceRequests().cpus(1).resource("gpu", work.gpus)
    return ResourceProfileBuilder().require(wanted).build


def _follow(run: HandoffRun, progress: Callable[[str, int, int], None], told: threading.Event) -> None:
    while not told.wait(_EVERY):
        progress(run.plan.program, len(run.committed() | run.dead()), len(run.plan.shards))


def _work(batches: Iterator[pa.RecordBatch], root: str, python: str, options: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """In a task: one worker a row."""
    for batch in batches:
        names = [f"spark-{socket.gethostname()}-{number}" for number in batch.column(0).to_pylist()]
        ended = [_one(root, python, name, options) for name in names]
        yield pa.RecordBatch.from_pydict({
            "worker_id": names, "code": pa.array([code for code, _ in ended], pa.int32()), "said": [said for _, said in ended],
        })  # fmt: skip


def _one(root: str, python: str, name: str, options: dict[str, Any]) -> tuple[int, str]:
    """Exit code and last log line of a worker that is started, watched and ended here."""
    command = worker_command(python, root, 1, name, options)
    said: deque[str] = deque(maxlen=1)
    try:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=_environment())
    except OSError as error:  # told as a shell would, so that Spark does not try four times
        return 127, f"{command[0]} cannot be started: {error}. Set work.python to an interpreter that every node has."
    with process:
        try:
            assert process.stderr is not None  # noqa: S101  # it was asked for
            said.extend(process.stderr)
            process.wait()
        finally:  # also where Spark interrupts the task
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(_GRACE)
                except subprocess.TimeoutExpired:
                    process.kill()
    return process.returncode, said[0].strip()[:2000] if said else ""


def _environment() -> dict[str, str]:
    """A worker sees the GPUs that Spark gave its task, and no other."""
    from pyspark import TaskContext

    environment, context = child_environment(), TaskContext.get()
    given = context.resources().get("gpu") if context is not None else None
    if given is not None:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(given.addresses)
    return environment
