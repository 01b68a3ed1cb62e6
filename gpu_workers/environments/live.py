"""A program of ours that lives in the sandbox for one episode and answers calls; what it says is not believed, only shown."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gpu_workers.environments.environment import EnvironmentFaultError
from schemas.environment import ToolStatus
from udfs.sandbox.program import one_file
from udfs.sandbox.sandbox import Sandbox, Session
from udfs.sandbox.spec import ISOLATED, Answer, Job, Limits

#: Seconds that an episode may last. A policy that takes longer between its calls is not judged for that: the environment has failed.
LIFE = 7200.0
#: Bytes that one episode may print past its tool, in all its calls together (children write to the pipe itself; what the tool's own Python
#: prints comes with its answer). The sandbox's default of 64 KiB is meant for one short run: eight observations of the default size would
#: be its end. Of an answer the sandbox's default of 1 MiB is meant: the longest that ``inside`` makes (60,000 characters printed or read
#: and 8,000 of a traceback, at most 12 bytes of JSON each) has 816,000 bytes.
PRINTED = 1 << 20
#: Seconds that the worker waits beyond the time that the program inside was told.
GRACE = 5.0

_STATUS: dict[str, ToolStatus] = {"timeout_wall": "tool_timeout", "timeout_cpu": "tool_timeout", "sandbox_error": "env_error"}
_WHY = {
    "timeout_wall": "it took longer than {wall:g} seconds",
    "timeout_cpu": "it used more processor time than the episode may",
    "oom": "it used more memory than it may",
    "pids": "it started more processes than it may",
    "output_limit": "it printed more than it may",
}


class ToolLimits(BaseModel):
    """Bounds of what tools run, as part of a setting.

    Attributes:
        call_seconds: on the clock, of one call.
        cpu_seconds: of processor, of one process over the whole episode.
        memory_mb: MiB.
        disk_mb: MiB of all files below the working directory, and of /tmp.
        processes: at once.
        observation_chars: of one observation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    call_seconds: float = Field(default=10.0, gt=0.0, le=300.0)
    cpu_seconds: float = Field(default=60.0, gt=0.0, le=3600.0)
    memory_mb: int = Field(default=512, ge=32, le=65536)
    disk_mb: int = Field(default=64, ge=1, le=4096)
    processes: int = Field(default=64, ge=8, le=1024)
    observation_chars: int = Field(default=8000, ge=200, le=60_000)

    def limits(self, wall: float) -> Limits:
        """As the sandbox's."""
        return Limits(
            wall=wall, cpu=self.cpu_seconds, memory=self.memory_mb << 20, pids=self.processes, disk=self.disk_mb << 20,
            file_size=(self.disk_mb + 1) << 20,  # the quota is met first, and says what it is
        )  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """What came of a call: the program's answer, or the status and the reason of there being none; then the program is gone."""

    answer: dict[str, Any]
    printed: str = ""
    status: ToolStatus = "ok"
    reason: str = ""


@cache
def program(name: str) -> bytes:
    """A program of :mod:`gpu_workers.environments.inside` with what it imports of ours, as one file."""
    return one_file("gpu_workers.environments.inside", ("frames", name), ("from gpu_workers.",)).encode()


def _answer(payload: bytes, number: int) -> dict[str, Any] | None:
    """What a frame says, where it has the shape of an answer to the call of this number."""
    try:
        answer = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or answer.get("number") != number:
        return None
    return answer if isinstance(answer.get("out"), str) and type(answer.get("dropped")) is int else None


class Live:
    """One session, started anew by ``begin``."""

    def __init__(self, sandbox: Sandbox, name: str, snapshot: dict[str, bytes], limits: ToolLimits) -> None:
        self._sandbox, self._limits = sandbox, limits
        self._files, self._code = snapshot, program(name).decode()
        self._session: Session | None = None
        self._seed, self._number = 0, 0
        # A cancelled episode is closed while a call of it may still run in another thread.
        self._lock = threading.Lock()
        self._closed = False

    def begin(self, seed: int) -> None:
        """Start from the snapshot; what ran before is ended first.

        Raises:
            EnvironmentFaultError: it was closed for good.
        """
        with self._lock:
            self._begin(seed)

    def _begin(self, seed: int) -> Session:
        if self._closed:
            raise EnvironmentFaultError("begun after its end")
        self._end()
        self._seed = seed
        # By -c, so that the working directory holds the snapshot alone.
        job = Job(
            (*ISOLATED, "-c", self._code), files=self._files, limits=replace(self._limits.limits(LIFE), output=PRINTED), env={"EPISODE_SEED": str(seed)},
            requests=True, results=True,
        )  # fmt: skip
        self._session = self._sandbox.open(job)
        return self._session

    def ask(self, wall: float, **message: Any) -> Reply:
        """One call; a program that gave no answer is gone, and the next call is one to a program that begins from the snapshot."""
        with self._lock:
            try:
                session = self._session or self._begin(self._seed)
            except EnvironmentFaultError as error:
                return Reply({}, "", "env_error", str(error))
            self._number += 1
            said = session.call(json.dumps({**message, "number": self._number}).encode("ascii"), wall)
            printed = (said.stdout + said.stderr).decode("utf-8", "replace")
            if said.status != "ok":
                return self._lost(said, wall, printed)
            answer = _answer(said.payload, self._number)
            if answer is None:
                self._end()
                return Reply({}, printed, "tool_error", "the program interfered with the tool, which was ended")
            return Reply(answer, printed)

    def _lost(self, said: Answer, wall: float, printed: str) -> Reply:
        self._end()
        if said.status == "timeout_wall" and said.wall < wall * 0.9:
            return Reply({}, printed, "env_error", f"the episode lasted longer than {LIFE:g} seconds")
        status = _STATUS.get(said.status, "tool_error")
        reason = said.reason or "" if status == "env_error" else _WHY.get(said.status, "the process of the tool ended").format(wall=wall)
        return Reply({}, printed, status, reason)

    def close(self) -> None:
        """End it for good; when this returns, nothing of it is left."""
        with self._lock:
            self._closed = True
            self._end()

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
