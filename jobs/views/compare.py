"""compare: two rounds on the same held-out prompts, and what lies between them; two checkpoints likewise. No JVM.

Rounds are compared on eval rows alone. Where the fixed sets differ (other prompts, samples, seeds, contracts, sampling or verifier), a
difference of scores would say nothing about the policies, and the comparison is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jobs.config import load_config
from jobs.views.changes import Changes, read_changes
from jobs.views.evals import EvalScores, common_evals
from jobs.views.paired import Pair, pair, pair_by_type
from jobs.views.reader import LakeReader
from jobs.views.scores import COLLECTED, FIXED, EvalItem, digest_of, eval_items, round_scores
from jobs.workspace import Workspace
from schemas.conf import Eval
from schemas.errors import VerilakeError

#: Ids that a refusal names.
_NAMED = 3


class DigestMismatchError(VerilakeError):
    """Two rounds whose fixed eval sets differ."""

    exit_code = 3

    @classmethod
    def from_items(cls, first: int, second: int, digests: tuple[str, str], differences: list[str]) -> DigestMismatchError:
        """Both digests and all that differs."""
        return cls(
            f"rounds {first} and {second} cannot be compared: their fixed eval sets differ, {digests[0]} against {digests[1]}: "
            f"{'; '.join(differences)}. Evaluate both checkpoints on one round instead: verilake eval CHECKPOINT --against CHECKPOINT --round N"
        )


@dataclass(frozen=True)
class Comparison:
    """Two rounds.

    Attributes:
        rounds: both.
        policies: checkpoints that each rolled out.
        eval_digest: of the fixed set that they share.
        collected_digests: of the collected failures that each tried; these may differ, the score is over what both tried alike.
        fixed: scores on the fixed set.
        fixed_by_type: the same by task type.
        collected: scores on the collected failures that both tried.
        collected_apart: collected prompts that only the first and only the second tried, or tried in another way.
        changes: what else lies between them.
    """

    rounds: tuple[int, int]
    policies: tuple[tuple[str, ...], tuple[str, ...]]
    eval_digest: str
    collected_digests: tuple[str, str]
    fixed: Pair
    fixed_by_type: dict[str, Pair]
    collected: Pair
    collected_apart: tuple[int, int]
    changes: Changes


@dataclass(frozen=True)
class EvalComparison:
    """Two checkpoints on the same sets.

    Attributes:
        first: the one held against.
        second: the other; differences are second minus first.
    """

    first: EvalScores
    second: EvalScores
    fixed: Pair
    fixed_by_type: dict[str, Pair]
    collected: Pair


def compare(workspace: Workspace, first: int, second: int, settings: Eval | None = None) -> Comparison:
    """Two closed rounds.

    Args:
        workspace: where.
        first: a round.
        second: another; differences are second minus first.
        settings: of the intervals; the workspace's own where None.

    Raises:
        NoLakeError: the workspace holds no lake.
        MissingInputError: a round is not closed.
        DigestMismatchError: the fixed eval sets differ.
    """
    reader, settings = LakeReader.open(workspace), settings or load_config(workspace.root).eval
    items = [eval_items(reader, number) for number in (first, second)]
    fixed, collected = ([digest_of(side[name]) for side in items] for name in (FIXED, COLLECTED))
    if fixed[0] != fixed[1]:
        differences = item_differences(items[0][FIXED], items[1][FIXED])
        raise DigestMismatchError.from_items(first, second, (fixed[0], fixed[1]), differences)
    a, b = (round_scores(reader, number) for number in (first, second))
    both = {item.prompt_id for item in set(items[0][COLLECTED]) & set(items[1][COLLECTED])}
    shared = [[p for p in side.collected if p.prompt_id in both] for side in (a, b)]
    return Comparison(
        rounds=(first, second),
        policies=(a.policies, b.policies),
        eval_digest=fixed[0],
        collected_digests=(collected[0], collected[1]),
        fixed=pair(a.fixed, b.fixed, settings, fixed[0]),
        fixed_by_type=pair_by_type(a.fixed, b.fixed, settings, fixed[0]),
        collected=pair(shared[0], shared[1], settings, *collected),
        collected_apart=(len(a.collected) - len(both), len(b.collected) - len(both)),
        changes=read_changes(workspace, reader, first, second),
    )


def compare_evals(workspace: Workspace, policy_a: str, policy_b: str, settings: Eval | None = None) -> EvalComparison:
    """Two checkpoints by their newest evaluations on equal sets.

    Args:
        workspace: where.
        policy_a: checkpoint.
        policy_b: another; differences are this one minus the first.
        settings: as :func:`compare`.

    Raises:
        NoLakeError: the workspace holds no lake.
        NoEvalError: they were not evaluated on the same sets.
    """
    reader, settings = LakeReader.open(workspace), settings or load_config(workspace.root).eval
    a, b = common_evals(reader, policy_a, policy_b)
    return EvalComparison(
        a, b, pair(a.fixed, b.fixed, settings, a.digests[FIXED]), pair_by_type(a.fixed, b.fixed, settings, a.digests[FIXED]),
        pair(a.collected, b.collected, settings, a.digests[COLLECTED]),
    )  # fmt: skip


def item_differences(first: Iterable[EvalItem], second: Iterable[EvalItem]) -> list[str]:
    """In words: prompts on one side only, then what differs on common prompts."""
    a, b = {item.prompt_id: item for item in first}, {item.prompt_id: item for item in second}
    said = []
    for here, there, side in ((a, b, "first"), (b, a, "second")):
        if alone := sorted(here.keys() - there.keys()):
            said.append(f"{len(alone)} prompts only in the {side} ({_some(alone)})")
    common = sorted(a.keys() & b.keys())
    facts: dict[str, Callable[[EvalItem], object]] = {
        "number of samples": lambda item: item.n_samples, "seeds": lambda item: item.seed, "contracts": lambda item: item.contract,
        "sampling": lambda item: ", ".join(item.sampling) or "none", "verifier": lambda item: ", ".join(item.verifiers) or "none",
    }  # fmt: skip
    for name, fact in facts.items():
        if other := [ident for ident in common if fact(a[ident]) != fact(b[ident])]:
            before, after = fact(a[other[0]]), fact(b[other[0]])
            said.append(f"{name} of {len(other)} of {len(common)} common prompts (first: {other[0][:12]}, {before} -> {after})")
    return said


def _some(idents: list[str]) -> str:
    return ", ".join(ident[:12] for ident in idents[:_NAMED]) + (", ..." if len(idents) > _NAMED else "")
