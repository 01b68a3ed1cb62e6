"""What environments over one live program share: the setting, its life from snapshot to end, and how its replies become observations."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from gpu_workers.environments.environment import Observation, Step, shown
from gpu_workers.environments.live import Live, Reply, ToolLimits, program
from gpu_workers.environments.snapshot import fingerprint_of, image_of, read_setting, snapshot_of
from schemas.environment import Fingerprint
from udfs.sandbox.sandbox import Sandbox


class SessionSetting(BaseModel):
    """What an item sets.

    Attributes:
        files: path -> text, in the working directory of every episode; public tests may be among them, hidden ones never.
        limits: of what runs, and of the disk.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: dict[str, str] = Field(default_factory=dict)
    limits: ToolLimits = ToolLimits()


class SessionEnvironment:
    """One live program for an episode; where it dies, the next call begins a fresh one from the snapshot, and the policy is told."""

    #: Name and version of the environment, and the program of ``inside`` that keeps its state.
    name: ClassVar[str]
    version: ClassVar[str]
    program: ClassVar[str]

    def __init__(self, setting: str, sandbox: Sandbox) -> None:
        """Take the setting of an item.

        Raises:
            SettingError: it cannot be used.
        """
        held = read_setting(SessionSetting, self.name, setting)
        self._limits, self._sandbox = held.limits, sandbox
        self._files = snapshot_of(self.name, held.files)
        self._live = Live(sandbox, self.program, self._files, held.limits)

    def close(self) -> None:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        self._live.close()

    def fingerprint(self) -> Fingerprint:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        return fingerprint_of(f"{self.name}@{self.version}", image_of(program(self.program), files=self._files), self._sandbox)


def told(reply: Reply, limits: ToolLimits, lost: str) -> Step:
    """A reply of a live program as a step.

    Args:
        reply: of the program.
        limits: bound the observation.
        lost: what the policy is told of its state where the program is gone.
    """
    if reply.status == "env_error":
        return Step(Observation(reply.reason), "env_error", done=True)
    if reply.status != "ok":
        text = f"{reply.printed}\n" if reply.printed.strip() else ""
        return Step(shown(f"{text}Ended: {reply.reason}; {lost}.", limits.observation_chars), reply.status)
    answer = reply.answer
    error = answer.get("error")
    parts = (answer["out"], reply.printed, error if isinstance(error, str) else "")
    text = "\n".join(part.rstrip("\n") for part in parts if part.strip("\n"))
    seen = shown(text or "(no output)", limits.observation_chars, left_out=max(0, answer["dropped"]))
    return Step(seen, "ok" if error is None else "tool_error")
