"""Environment ``workspace``: a folder and a shell in the sandbox; files stay from call to call, within a quota, and no network is there."""

from __future__ import annotations

from typing import Any

from gpu_workers.environments.environment import Action, Message, Observation, Step, Tool, object_of, shown
from gpu_workers.environments.live import GRACE, Reply
from gpu_workers.environments.session import SessionEnvironment, told

NAME, VERSION = "workspace", "1"
_LOST = "the workspace is as it was at the beginning"

TOOLS = (
    Tool("list_files", "Lists all files of the workspace with their sizes in bytes.", object_of()),
    Tool("read_file", "Shows a file.", object_of(path="relative to the workspace")),
    Tool("write_file", "Writes a file whole; folders are made.", object_of(path="relative to the workspace", content="all of its text")),
    Tool("run", "Runs a command in a shell (sh) in the workspace. There is no network.", object_of(command="the command")),
    Tool("submit", "Hands in the final answer and ends the episode.", object_of(answer="the final answer")),
)


class Workspace(SessionEnvironment):
    """One folder; where the process that keeps it dies (memory, say), it begins anew from the snapshot, and the policy is told."""

    name, version, program = NAME, VERSION, "workspace_session"
    tools = TOOLS

    def reset(self, seed: int) -> Observation:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        self._live.begin(seed)
        listed = "\n".join(f"{name}\t{len(content)}" for name, content in self._files.items())
        return shown(f"Files of the workspace:\n{listed}" if listed else "The workspace is empty.", self._limits.observation_chars)

    def step(self, action: Action) -> Step:
        """As :class:`gpu_workers.environments.environment.Environment`."""
        if isinstance(action, Message):
            return Step(Observation(""), done=True)
        if action.name == "submit":
            return Step(Observation("Handed in."), done=True, answer=action.arguments["answer"])
        wall = self._limits.call_seconds
        given: dict[str, Any] = {"call": action.name, **action.arguments}
        if action.name != "run":
            return told(self._live.ask(wall, **given), self._limits, _LOST)
        # The command has its own bound inside, so that the files outlive a command that hangs.
        return self._ran(self._live.ask(wall + GRACE, **given, seconds=wall))

    def _ran(self, reply: Reply) -> Step:
        step = told(reply, self._limits, _LOST)
        if step.status != "ok" or "code" not in reply.answer:
            return step
        code = reply.answer["code"]
        if code is None:
            late = f"\n[killed after {self._limits.call_seconds:g} seconds]"
            return Step(Observation(step.observation.text + late, step.observation.truncated), "tool_timeout")
        seen = Observation(f"{step.observation.text}\n[exit code {code}]", step.observation.truncated)
        return Step(seen, "ok" if code == 0 else "tool_error")
