"""Sections [judge], [rescore], [agent] and [sandbox]: what is asked about a round beside its plain rollouts, and how its code may run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.conf_convert import TokenPrice
from schemas.conf_section import Positive, Section, Share

Role = Literal["train", "probe", "eval", "canary"]
JudgementKind = Literal["pairwise", "pointwise"]
EnvironmentName = Literal["python_tests", "python_tool", "workspace", "question_answering"]


class Judge(Section):
    """A model as judge, and what it is asked about."""

    engine: Literal["openai", "vllm"]
    model: str
    kind: JudgementKind
    roles: tuple[Role, ...] = Field(min_length=1)
    task_types: tuple[str, ...]
    share: Share
    per_prompt: Positive
    pairs_per_prompt: Positive
    draws: Positive
    show_reference: bool
    temperature: Annotated[float, Field(ge=0.0, le=2.0)]
    max_response_tokens: Positive
    items_per_shard: Positive
    prices: dict[str, TokenPrice]

    @model_validator(mode="after")
    def _a_pair_is_two(self) -> Judge:
        if self.kind == "pairwise" and self.per_prompt < 2:
            msg = f"kind = 'pairwise' compares two responses to a prompt: per_prompt must be at least 2, got {self.per_prompt}"
            raise ValueError(msg)
        return self


class Rescore(Section):
    """Which sampled turns are scored under another checkpoint."""

    roles: tuple[Role, ...] = Field(min_length=1)
    turns_per_shard: Positive


class AgentLimits(Section):
    """Bounds of what an agent's tools run, in the fields and within the bounds of an environment's setting."""

    call_seconds: Annotated[float, Field(gt=0.0, le=300.0)]
    cpu_seconds: Annotated[float, Field(gt=0.0, le=3600.0)]
    memory_mb: Annotated[int, Field(ge=32, le=65_536)]
    disk_mb: Annotated[int, Field(ge=1, le=4096)]
    processes: Annotated[int, Field(ge=8, le=1024)]
    observation_chars: Annotated[int, Field(ge=200, le=60_000)]


class Agent(Section):
    """Which tasks are rolled out turn by turn, and where."""

    environments: dict[str, EnvironmentName]
    max_turns: Positive
    max_response_tokens: Positive
    prompts_per_shard: Positive
    tool_format: Literal["text", "native"]
    env_attempts: Positive
    max_malformed: Positive
    loop_after: Positive
    limits: AgentLimits


class Sandbox(Section):
    """Where the jobs run code that models wrote."""

    allow_weak: bool
