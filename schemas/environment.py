"""How an agent's environment is named and how a call into it may end."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from schemas.ids import canonical_json

#: How a call of a tool ended. ``malformed_call`` and ``loop`` are the policy's doing, ``tool_timeout`` and ``tool_error`` those of the code it
#: ran, ``env_error`` is ours: the episode is begun again, and what is left of it after the last retry has a null reward (law 6).
TOOL_STATUS = ("ok", "tool_timeout", "tool_error", "env_error", "malformed_call", "loop")
ToolStatus = Literal["ok", "tool_timeout", "tool_error", "env_error", "malformed_call", "loop"]


class Fingerprint(BaseModel):
    """Where an episode took place: whatever can change what a tool answers.

    Attributes:
        environment: name@version of the environment.
        image: digest of the snapshot that every episode starts from.
        interpreter: implementation and version of the interpreter in the sandbox.
        packages: digest of what it can import.
        network: ``none``; an environment that reaches further says so here.
        tier: tier of the sandbox (udfs.sandbox), ``-`` where no code runs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    environment: str
    image: str
    interpreter: str
    packages: str
    network: Literal["none", "loopback", "open"]
    tier: Literal["A", "B", "C", "D", "-"]

    def canonical(self) -> str:
        """The one JSON spelling, as stored beside every trajectory."""
        return canonical_json(self.model_dump(mode="json"))
