"""What an evaluation samples: the fixed set of a round, and the failures collected up to it, under that round's settings. No JVM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jobs.handoff.rollouts import SAMPLING, SERVED, engine_version, planned_ingests, sampling_settings
from jobs.lake.errors import MissingInputError
from jobs.ledger import read_events
from jobs.views.reader import LakeReader, alias
from jobs.views.scores import COLLECTED, FIXED, EvalItem, digest_of, held_out
from jobs.workspace import Workspace
from schemas.bronze.rollouts import ROLLOUTS
from schemas.conf import Rollout
from schemas.errors import VerilakeError
from schemas.gold.regression import REGRESSION
from schemas.ids import content_id
from schemas.ops.job_runs import JOB_RUNS
from schemas.policy import Policy
from schemas.silver.task_stats import TASK_STATS
from udfs.grading import VERIFIER, VERSION
from udfs.store.run import PLAN, HandoffRun
from udfs.trajectories.summary import sampling_hash

GRADER = f"{VERIFIER}@{VERSION}"
#: What a policy is shown of a prompt, beside its plan row.
_SHOWN = ("q.system", "q.text", "q.context", "q.options", "q.form", "t.question", "t.subject")


class EvalRefusedError(VerilakeError):
    """An evaluation that would not be comparable with the round it refers to."""

    exit_code = 3

    @classmethod
    def from_empty(cls, round_no: int) -> EvalRefusedError:
        """Nothing is held out."""
        return cls(
            f"round {round_no} has no fixed eval prompts. Set plan.eval_prompts above 0 in a new campaign, or name another round with --round."
        )

    @classmethod
    def from_settings(cls, round_no: int) -> EvalRefusedError:
        """How the round was sampled is not known any more."""
        return cls(
            f"round {round_no} was sampled with other settings than those in force, and its hand-off run, which holds them, is gone. "
            "Set rollout.temperature, max_response_tokens and passages_per_question back to what they were."
        )

    @classmethod
    def from_agents(cls, round_no: int, prompts: int) -> EvalRefusedError:
        """The round's own samples of held-out prompts were episodes."""
        return cls(
            f"round {round_no}: {prompts} held-out prompts were rolled out by agents, turn by turn. An evaluation samples one response and would not be "
            "comparable; compare the rounds themselves (verilake compare), or leave the kinds of held-out tasks out of agent.environments."
        )

    @classmethod
    def from_lost(cls, round_no: int, prompt_ids: list[str]) -> EvalRefusedError:
        """Prompts are gone, say after a takedown."""
        return cls(
            f"round {round_no}: {len(prompt_ids)} held-out prompts are no longer in gold.prompts (first: {prompt_ids[0]}); was a source taken down? "
            "Evaluate on a later round with --round."
        )


@dataclass(frozen=True)
class EvalPlan:
    """What is sampled.

    Attributes:
        round: whose eval sets, passages and settings.
        rows: rows of gold.round_plan with what the policy is shown (schemas.handoff.ROLLOUT_SHARD), contract, cluster_id, eval_set and
            eval_digest; each prompt once.
        digests: set -> digest.
        sampling: settings that bear on a sample.
        ingests: whose documents the policy may read.
        engine: what samples, and in which version.
    """

    round: int
    rows: list[dict[str, Any]]
    digests: dict[str, str]
    sampling: dict[str, Any]
    ingests: list[str]
    engine: str

    @property
    def samples(self) -> int:
        """Samples of both sets."""
        return sum(row["n_samples"] for row in self.rows)

    @property
    def versions(self) -> dict[str, str]:
        """Code that bears on the result."""
        return {"engine": self.engine, "verifier": GRADER}

    def eval_id(self, policy_id: str) -> str:
        """Names the evaluation of one checkpoint by all that bears on its result; two rounds with the same sets share it."""
        return content_id("eval", policy_id, self.digests, self.sampling, self.ingests, self.versions)


def eval_plan(workspace: Workspace, round_no: int | None, rollout: Rollout, policy: Policy) -> EvalPlan:
    """The plan of an evaluation.

    Args:
        workspace: where.
        round_no: a closed round; the newest one where None.
        rollout: settings in force, used where the round's own are no longer there and these are known to be the same.
        policy: what is evaluated.

    Raises:
        NoLakeError: the workspace holds no lake.
        MissingInputError: the round is not closed.
        EvalRefusedError: nothing is held out, prompts are gone or were rolled out by agents, or the round's settings are not known.
    """
    reader = LakeReader.open(workspace)
    number = closed_round(reader, round_no)
    sampling = round_sampling(workspace, reader, number, rollout)
    fixed = held_out(reader, f"p.round = {number} AND p.why = 'eval_fixed'", *_SHOWN)
    if not fixed:
        raise EvalRefusedError.from_empty(number)
    sets = {FIXED: fixed, COLLECTED: _collected(reader, number, {row["prompt_id"] for row in fixed})}
    lost = [row["prompt_id"] for rows in sets.values() for row in rows if row["contract"] is None or row["cluster_id"] is None]
    if lost:
        raise EvalRefusedError.from_lost(number, lost)
    acted = _acted(reader, {row["prompt_id"] for rows in sets.values() for row in rows})
    if acted:
        raise EvalRefusedError.from_agents(number, len(acted))
    drawn = sampling_hash(float(sampling["temperature"]), float(sampling.get("top_p", 1.0)), "processed", policy.engine)
    digests = {name: digest_of(_item(row, drawn) for row in rows) for name, rows in sets.items()}
    rows = [{**row, "round": number, "eval_set": name, "eval_digest": digests[name]} for name, found in sets.items() for row in found]
    return EvalPlan(number, rows, digests, sampling, planned_ingests(reader.lake, number), engine_version(policy))


def _acted(reader: LakeReader, prompts: set[str]) -> set[str]:
    """Those of the prompts that agents have rolled out."""
    found = reader.select(f"SELECT DISTINCT prompt_id FROM {alias(ROLLOUTS)} WHERE program = 'agent'", ROLLOUTS)
    return {row["prompt_id"] for row in found} & prompts


def closed_round(reader: LakeReader, round_no: int | None) -> int:
    """``round_no``, checked; the newest closed round where None.

    Raises:
        MissingInputError: it is not closed, or none is.
    """
    closed = {int(value) for value in reader.lake.slices(TASK_STATS)} & {int(value) for value in reader.lake.slices(REGRESSION)}
    if round_no is None and closed:
        return max(closed)
    if round_no not in closed or round_no is None:
        wanted = "any round" if round_no is None else f"round {round_no}"
        raise MissingInputError.from_slice(TASK_STATS.name, wanted, f"verilake run --rounds {round_no or 1}")
    return round_no


def round_sampling(workspace: Workspace, reader: LakeReader, round_no: int, rollout: Rollout) -> dict[str, Any]:
    """How a round was sampled: by its hand-off run; where that is gone, by the settings in force if the ledger says they are the same.

    Raises:
        EvalRefusedError: neither says it.
    """
    runs = reader.select(f"SELECT DISTINCT run_id FROM {alias(ROLLOUTS)} WHERE round = {round_no} ORDER BY run_id", ROLLOUTS)
    for row in runs:
        run = HandoffRun(workspace.handoff_root / "rollout" / f"run={row['run_id']}")
        if run.store.exists(PLAN):
            return {name: run.plan.settings[name] for name in (*SAMPLING, *SERVED) if name in run.plan.settings}
    sampling = sampling_settings(rollout)
    recorded = {
        event["conf_hash"]
        for event in read_events(reader.lake, JOB_RUNS)
        if (event["job"], event["scope"], event["state"]) == ("rollout_round", f"round={round_no}", "finished")
    }
    if recorded and content_id(sampling) not in recorded:
        raise EvalRefusedError.from_settings(round_no)
    return sampling


def _collected(reader: LakeReader, round_no: int, fixed: set[str]) -> list[dict[str, Any]]:
    """Failures of rounds up to this one, as they were last planned, without the fixed prompts; in order of prompt_id.

    Samples and seeds are those of the plan: eval seeds leave the round out, so that the same policy draws the same again.
    """
    failed = f"SELECT prompt_id FROM {alias(REGRESSION)} WHERE round <= {round_no}"
    if reader.delta(REGRESSION) is None:
        return []
    newest = {row["prompt_id"]: row for row in held_out(reader, f"p.round <= {round_no} AND p.prompt_id IN ({failed})", *_SHOWN)}
    return [row for prompt_id, row in sorted(newest.items()) if prompt_id not in fixed]


def _item(row: dict[str, Any], sampling: str) -> EvalItem:
    return EvalItem(row["prompt_id"], row["n_samples"], row["seed"], row["contract"], (sampling,), (GRADER,))


def for_policy(plan: EvalPlan, policy_id: str) -> EvalPlan:
    """The plan with another checkpoint in its rows."""
    return replace(plan, rows=[{**row, "policy_id": policy_id} for row in plan.rows])
