"""Environment ``python_tool``: an interpreter in the sandbox whose variables live as long as the episode."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from gpu_workers.environments.environment import Action, Message, Observation, Step, Tool, object_of, shown
from gpu_workers.environments.live import Live, Reply, ToolLimits, program
from gpu_workers.environments.snapshot import fingerprint_of, image_of, read_setting, snapshot_of
from schemas.environment import Fingerprint
from udfs.sandbox.sandbox import Sandbox

NAME, VERSION = "python_tool", "1"
_PROGRAM = "python_session"

TOOLS = (
    Tool(
        "python",
        "Runs Python code. Variables, imports and files stay from call to call. Shows what is printed, and the value of a last expression.",
        object_of(code="the code to run"),
    ),
)


class PythonToolSetting(BaseModel):
    """What an item sets.

    Attributes:
        files: path -> text, in the working directory of every episode.
        limits: of what runs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: dict[str, str] = Field(default_factory=dict)
    limits: ToolLimits = ToolLimits()


class PythonTool:
    """One interpreter; where it dies (memory, processes, time), the next call begins a fresh one, and the policy is told."""

    tools = TOOLS

    def __init__(self, setting: str, sandbox: Sandbox) -> None:
        """Take the setting of an item.

        Raises:
            SettingError: it cannot be used.
        """
        held = read_setting(PythonToolSetting, NAME, setting)
        self._limits, self._sandbox = held.limits, sandbox
        self._files = snapshot_of(NAME, held.files)
        self._live = Live(sandbox, _PROGRAM, self._files, held.limits)

    def reset(self, seed: int) -> Observation:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        self._live.begin(seed)
        names = ", ".join(self._files)
        return Observation(f"Files in the working directory: {names}" if names else "")

    def step(self, action: Action) -> Step:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        if isinstance(action, Message):
            return Step(Observation(""), done=True)
        reply = self._live.ask(self._limits.call_seconds, code=action.arguments["code"])
        return told(reply, self._limits, "its variables and files are gone")

    def close(self) -> None:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        self._live.close()

    def fingerprint(self) -> Fingerprint:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        return fingerprint_of(f"{NAME}@{VERSION}", image_of(program(_PROGRAM), files=self._files), self._sandbox)


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
