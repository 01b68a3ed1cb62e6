"""The part of a round's plan that agents roll out turn by turn, and the run that does it; the rest is sampled at once."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jobs.context import JobContext
from jobs.handoff.rollouts import sampling_settings, shard_items, worker_settings
from jobs.lake.types import spark_schema
from schemas.conf import Config
from schemas.gold.prompts import PROMPTS
from schemas.handoff import AGENT_SHARD
from schemas.policy import Policy
from udfs.agents.setting import PLACED, TASKS, place_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("verilake.handoff")


@dataclass(frozen=True)
class AgentPart:
    """Planned prompts by how they are rolled out; every one is in ``acted`` or ``plain``.

    Attributes:
        acted: rows of the plan with ``environment`` and ``setting``.
        plain: rows of the plan that are sampled at once.
        environments: names of those that are used, in order.
        prompts: how many are in ``acted``.
        unplaced: how many are in ``plain`` although their kind of task has an environment, by reason.
        tests_left_out: public tests that no agent is shown.
    """

    acted: DataFrame
    plain: DataFrame
    environments: tuple[str, ...]
    prompts: int
    unplaced: dict[str, int]
    tests_left_out: int


def has_agents(config: Config, policy: Policy) -> bool:
    """Whether a policy's rollouts may be episodes: the embedded reader calls no tools."""
    return bool(config.agent.environments) and policy.engine != "reader"


def settings_of(config: Config) -> dict[str, Any]:
    """What bears on an episode, beside the sampling of its turns."""
    return config.agent.model_dump(mode="json", exclude={"prompts_per_shard"})


def agent_part(ctx: JobContext, plan: DataFrame) -> AgentPart:
    """Tell a plan's prompts apart, by the kind of their task and what of their contract may be seen."""
    from pyspark.sql import functions as F

    agent = ctx.config.agent
    shown = plan.join(ctx.read(PROMPTS).select("prompt_id", "contract"), "prompt_id").select(*TASKS.names)
    place = partial(place_batches, environments=dict(agent.environments), limits=agent.limits.model_dump(mode="json"))
    placed = plan.join(shown.mapInArrow(place, spark_schema(PLACED)), "prompt_id", "left")
    counted = placed.groupBy("environment", "unplaced").agg(F.count("*").alias("n"), F.sum("tests_left_out").alias("left_out")).collect()
    unplaced = {row["unplaced"]: int(row["n"]) for row in counted if row["unplaced"] is not None}
    if unplaced:
        _LOG.warning("sampled at once, because their environment cannot take them: %s", unplaced)
    return AgentPart(
        acted=placed.where("environment IS NOT NULL"),
        plain=placed.where("environment IS NULL").select(*plan.columns),
        environments=tuple(sorted({row["environment"] for row in counted if row["environment"] is not None})),
        prompts=sum(int(row["n"]) for row in counted if row["environment"] is not None),
        unplaced=dict(sorted(unplaced.items())),
        tests_left_out=sum(int(row["left_out"] or 0) for row in counted),
    )


def agent_items(ctx: JobContext, acted: DataFrame) -> DataFrame:
    """Items of program ``agent``."""
    from pyspark.sql import functions as F

    settings = acted.select("prompt_id", "environment", "setting", F.lit(ctx.config.agent.max_turns).alias("max_turns"))
    return shard_items(ctx, acted).join(settings, "prompt_id").select(*AGENT_SHARD.names)


def agent_settings(config: Config, policy: Policy, environments: tuple[str, ...]) -> dict[str, Any]:
    """What an agent run tells its workers; the environments it uses are named, so that one without code needs no sandbox."""
    agent = config.agent
    rules = {name: getattr(agent, name) for name in ("tool_format", "env_attempts", "max_malformed", "loop_after")}
    sampling = {**sampling_settings(config.rollout), "max_response_tokens": agent.max_response_tokens}
    weak = {"allow_weak_sandbox": True} if config.sandbox.allow_weak else {}
    return {**worker_settings(sampling, policy), **rules, **weak, "environments": list(environments)}
