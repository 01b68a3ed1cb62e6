"""What samples: the weights that a round rolls out, and what serves them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

EngineName = Literal["reader", "vllm", "openai"]


class Policy(BaseModel):
    """``policies/<policy_id>/policy.json``; of the embedded reader made from its ``weights.json``.

    Attributes:
        engine: what serves it.
        policy_id: names the weights: content id of the checkpoint's files, or of the name under which a server knows them.
        policy_version: ordinal of the weights within their campaign.
        model: directory of the checkpoint, or the model's name at a server; empty for the reader, whose weights lie in the workspace.
        sha256: over the checkpoint's files; None for a server's model, which may change under its name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: EngineName
    policy_id: str
    policy_version: int
    model: str = ""
    sha256: str | None = None
