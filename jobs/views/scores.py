"""Scores of a round on held-out prompts, and the digests that say whether two rounds may be compared.

A digest covers everything but the policy that may change a score: prompts, contracts, samples, seeds, sampling, verifiers. The fixed set
is the same in every round; the collected failures are a set of their own. Prompts met for the first time (``eval_fresh``) are in neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jobs.lake.errors import MissingInputError
from jobs.views.reader import LakeReader, alias
from schemas.gold.prompts import PROMPTS
from schemas.gold.round_plan import ROUND_PLAN
from schemas.gold.tasks import TASKS
from schemas.ids import content_id
from schemas.silver.rewards import REWARDS
from schemas.silver.task_stats import TASK_STATS
from schemas.silver.trajectories import TRAJECTORIES

FIXED, COLLECTED = "fixed", "collected"
#: Why a row was planned -> the set it belongs to.
SETS = {"eval_fixed": FIXED, "eval_collected": COLLECTED}


@dataclass(frozen=True, slots=True, order=True)
class EvalItem:
    """One held-out prompt with all that may change its score beside the policy.

    Attributes:
        sampling: sampling hashes (schemas.silver.task_stats) of its samples, sorted; normally one.
        verifiers: ``name@version`` of what graded them, sorted; normally one.
    """

    prompt_id: str
    n_samples: int
    seed: int
    contract: str
    sampling: tuple[str, ...]
    verifiers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptScore:
    """Samples of one held-out prompt: ``n`` drawn, ``n_valid`` with a known reward, ``k`` correct."""

    prompt_id: str
    task_id: str
    task_type: str
    context_mode: str
    cluster_id: str
    n: int
    n_valid: int
    k: int

    @property
    def rate(self) -> float | None:
        """Share of the known samples that are correct; None where none is known (law 6: unknown is not wrong)."""
        return self.k / self.n_valid if self.n_valid else None


@dataclass(frozen=True, slots=True)
class RoundScores:
    """Both sets of one round, each in order of prompt_id."""

    round: int
    policies: tuple[str, ...]
    fixed: tuple[PromptScore, ...]
    collected: tuple[PromptScore, ...]


def digest_of(items: Iterable[EvalItem]) -> str:
    """content_id over the items in order of their prompts; equal digests are sets on which scores may be compared."""
    return content_id("eval", [[i.prompt_id, i.n_samples, i.seed, i.contract, i.sampling, i.verifiers] for i in sorted(items)])


def eval_digests(reader: LakeReader, round_no: int) -> tuple[str, str]:
    """Digests of a round's fixed eval set and of the collected failures that it rolled out.

    Raises:
        MissingInputError: the round was not planned, or not closed by feedback.
    """
    items = eval_items(reader, round_no)
    return digest_of(items[FIXED]), digest_of(items[COLLECTED])


def eval_items(reader: LakeReader, round_no: int) -> dict[str, list[EvalItem]]:
    """What both digests of a round cover, by set.

    Raises:
        MissingInputError: as :func:`eval_digests`.
    """
    sampling, verifiers = _gathered(_stats(reader, round_no), "sampling_hash"), _gathered(_verifiers(reader, round_no), "verifier")
    items: dict[str, list[EvalItem]] = {FIXED: [], COLLECTED: []}
    for row in _planned(reader, round_no):
        ident = row["prompt_id"]
        items[SETS[row["why"]]].append(
            EvalItem(ident, row["n_samples"], row["seed"], row["contract"] or "", sampling.get(ident, ()), verifiers.get(ident, ()))
        )
    return items


def round_scores(reader: LakeReader, round_no: int) -> RoundScores:
    """Samples of every planned held-out prompt, also of those for which nothing was delivered.

    Raises:
        MissingInputError: as :func:`eval_digests`.
    """
    held = _stats(reader, round_no)
    sums: dict[str, list[int]] = {}
    for row in held:  # several rows where more than one policy or sampling served the round
        counts = sums.setdefault(row["prompt_id"], [0, 0, 0])
        for place, name in enumerate(("n", "n_valid", "k")):
            counts[place] += row[name]
    scores: dict[str, list[PromptScore]] = {FIXED: [], COLLECTED: []}
    for row in _planned(reader, round_no):
        n, n_valid, k = sums.get(row["prompt_id"], (0, 0, 0))
        scores[SETS[row["why"]]].append(score_of(row, n, n_valid, k))
    policies = tuple(sorted({row["policy_id"] for row in held}))
    return RoundScores(round_no, policies, tuple(scores[FIXED]), tuple(scores[COLLECTED]))


def score_of(row: dict[str, Any], n: int, n_valid: int, k: int) -> PromptScore:
    """A score from a row that names the prompt. A task that is gone stands for itself as its cluster."""
    return PromptScore(
        row["prompt_id"], row["task_id"], row["task_type"], row["context_mode"], row["cluster_id"] or row["task_id"], n, n_valid, k
    )


def held_out(reader: LakeReader, condition: str, *further: str) -> list[dict[str, Any]]:
    """Rows of the eval role of gold.round_plan ``p``, with the prompt's contract and the cluster of its task, by round and prompt_id.

    Args:
        reader: the lake.
        condition: SQL of our own making.
        further: columns of gold.prompts ``q`` and gold.tasks ``t`` beside these.
    """
    columns = ", ".join([*(f"p.{name}" for name in ROUND_PLAN.schema.names), "q.contract", "t.cluster_id", *further])
    return reader.select(
        f"""SELECT {columns}
        FROM {alias(ROUND_PLAN)} p LEFT JOIN {alias(PROMPTS)} q ON q.prompt_id = p.prompt_id
        LEFT JOIN {alias(TASKS)} t ON t.task_id = p.task_id AND t.version = p.task_version
        WHERE p.role = 'eval' AND {condition} ORDER BY p.round, p.prompt_id""",
        ROUND_PLAN, PROMPTS, TASKS,
    )  # fmt: skip


def _planned(reader: LakeReader, round_no: int) -> list[dict[str, Any]]:
    """Rows of both sets in order of prompt_id."""
    whys = ", ".join(f"'{why}'" for why in SETS)
    return held_out(reader, f"p.round = {int(round_no)} AND p.why IN ({whys})")


def _stats(reader: LakeReader, round_no: int) -> list[dict[str, Any]]:
    """Rows of the eval role; an error where the round has no statistics at all.

    Raises:
        MissingInputError: as :func:`eval_digests`.
    """
    number = int(round_no)
    rows = reader.select(
        f"SELECT prompt_id, policy_id, sampling_hash, n, n_valid, k FROM {alias(TASK_STATS)} WHERE round = {number} AND role = 'eval'",
        TASK_STATS,
    )
    if not rows:
        for table, verb in ((ROUND_PLAN, "verilake plan"), (TASK_STATS, "verilake feedback")):
            held = reader.select(f"SELECT count(*) AS n FROM {alias(table)} WHERE round = {number}", table)
            if not held or not held[0]["n"]:
                raise MissingInputError.from_slice(table.name, f"round {number}", f"{verb} --round {number}")
    return rows


def _verifiers(reader: LakeReader, round_no: int) -> list[dict[str, Any]]:
    """What graded the outcome of each prompt's samples."""
    return reader.select(
        f"""SELECT DISTINCT t.prompt_id, r.verifier_name || '@' || r.verifier_version AS verifier
        FROM {alias(TRAJECTORIES)} t JOIN {alias(REWARDS)} r ON r.trajectory_id = t.trajectory_id
        WHERE t.round = {int(round_no)} AND r.round = {int(round_no)} AND t.role = 'eval' AND r.is_outcome""",
        TRAJECTORIES, REWARDS,
    )  # fmt: skip


def _gathered(rows: list[dict[str, Any]], column: str) -> dict[str, tuple[str, ...]]:
    """Prompt -> the distinct values of a column, sorted."""
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["prompt_id"], set()).add(row[column])
    return {prompt_id: tuple(sorted(values)) for prompt_id, values in found.items()}
