"""Scores of checkpoints that were evaluated outside any round, from silver.eval_samples. No JVM."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.views.reader import LakeReader, alias, literal
from jobs.views.scores import COLLECTED, FIXED, PromptScore, digest_of
from schemas.errors import VerilakeError
from schemas.silver.eval_samples import EVAL_SAMPLES

_EMPTY = digest_of([])


class NoEvalError(VerilakeError):
    """Checkpoints were not evaluated, or not on the same sets."""

    exit_code = 3

    @classmethod
    def from_policy(cls, policy_id: str) -> NoEvalError:
        """One was never evaluated."""
        return cls(f"{policy_id} was not evaluated. Run: verilake eval {policy_id}")

    @classmethod
    def from_digests(cls, first: str, second: str, digests: tuple[str, str]) -> NoEvalError:
        """Both were, on other sets."""
        return cls(
            f"{first} and {second} were never evaluated on the same sets: fixed and collected {digests[0]} against {digests[1]}. "
            f"Run: verilake eval {second} --against {first}"
        )


@dataclass(frozen=True)
class EvalScores:
    """One evaluation: the sets by prompt, in order of prompt_id, and their digests."""

    eval_id: str
    policy_id: str
    digests: dict[str, str]
    fixed: tuple[PromptScore, ...]
    collected: tuple[PromptScore, ...]


def eval_scores(reader: LakeReader, eval_id: str) -> EvalScores:
    """Samples of one evaluation, counted by prompt.

    Raises:
        NoEvalError: there is none of this id.
    """
    rows = reader.select(
        f"""SELECT policy_id, eval_set, eval_digest, prompt_id, task_id, task_type, context_mode, cluster_id, count(*) AS n, count(reward) AS n_valid,
        sum(CASE WHEN reward IS NOT NULL AND verdict = 'correct' THEN 1 ELSE 0 END) AS k
        FROM {alias(EVAL_SAMPLES)} WHERE eval_id = {literal(eval_id)}
        GROUP BY policy_id, eval_set, eval_digest, prompt_id, task_id, task_type, context_mode, cluster_id ORDER BY prompt_id""",
        EVAL_SAMPLES,
    )
    if not rows:
        raise NoEvalError.from_policy(eval_id)
    sets: dict[str, list[PromptScore]] = {FIXED: [], COLLECTED: []}
    digests = {FIXED: _EMPTY, COLLECTED: _EMPTY}
    for row in rows:
        digests[row["eval_set"]] = row["eval_digest"]
        names = ("prompt_id", "task_id", "task_type", "context_mode", "cluster_id", "n", "n_valid", "k")
        sets[row["eval_set"]].append(PromptScore(*(row[name] for name in names)))
    return EvalScores(eval_id, rows[0]["policy_id"], digests, tuple(sets[FIXED]), tuple(sets[COLLECTED]))


def common_evals(reader: LakeReader, first: str, second: str) -> tuple[EvalScores, EvalScores]:
    """The newest evaluations of two checkpoints on equal sets.

    Raises:
        NoEvalError: there are none.
    """
    sides = [_evals(reader, policy) for policy in (first, second)]
    for policy, held in zip((first, second), sides, strict=True):
        if not held:
            raise NoEvalError.from_policy(policy)
    for eval_id, digests in sides[0].items():
        for other, same in sides[1].items():
            if digests == same:
                return eval_scores(reader, eval_id), eval_scores(reader, other)
    newest = [next(iter(side.values())) for side in sides]
    raise NoEvalError.from_digests(first, second, (" ".join(newest[0]), " ".join(newest[1])))


def _evals(reader: LakeReader, policy_id: str) -> dict[str, tuple[str, str]]:
    """eval_id -> digests of both sets, the newest first."""
    rows = reader.select(
        f"SELECT DISTINCT eval_id, eval_set, eval_digest FROM {alias(EVAL_SAMPLES)} WHERE policy_id = {literal(policy_id)}", EVAL_SAMPLES
    )
    sets: dict[str, dict[str, str]] = {}
    for row in rows:
        sets.setdefault(row["eval_id"], {})[row["eval_set"]] = row["eval_digest"]
    age = {value: commit.version for value, commit in reader.lake.slices(EVAL_SAMPLES).items()}
    order = sorted(sets, key=lambda ident: (-age.get(ident, -1), ident))
    return {ident: (sets[ident].get(FIXED, _EMPTY), sets[ident].get(COLLECTED, _EMPTY)) for ident in order}
