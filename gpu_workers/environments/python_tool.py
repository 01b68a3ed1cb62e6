"""Environment ``python_tool``: an interpreter in the sandbox whose variables live as long as the episode."""

from __future__ import annotations

from gpu_workers.environments.environment import Action, Message, Observation, Step, Tool, object_of
from gpu_workers.environments.session import SessionEnvironment, told

NAME, VERSION = "python_tool", "1"

TOOLS = (
    Tool(
        "python",
        "Runs Python code. Variables, imports and files stay from call to call. Shows what is printed, and the value of a last expression.",
        object_of(code="the code to run"),
    ),
)


class PythonTool(SessionEnvironment):
    """One interpreter; where it dies (memory, processes, time), the next call begins a fresh one, and the policy is told."""

    name, version, program = NAME, VERSION, "python_session"
    tools = TOOLS

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
