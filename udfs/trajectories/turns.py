"""Several turns of one trajectory: what must be known of each to say whether the delivery is sound, and the ids of its calls.

**What is graded** of a trajectory of several turns is ``response_text`` where the delivery has one: the answer that the policy handed in
(``submit``), else the text of its last turn. A delivery without it (another framework's dump) is graded by the last assistant's turn.

**Tokens.** The prompt's stand before the first turn; each turn has its own. What the policy did not sample is masked and has no
log-probability. A tool's turn without token ids that an assistant's turn follows is a gap: nobody can tell any more what the engine saw,
and the trajectory is not trainable (``no_tool_token_ids``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemas.ids import content_id, seed_from
from udfs.trajectories.tensors import all_hold, is_logprob, is_token

SAMPLED = "assistant"


def turn_seed(seed: int, turn: int) -> int:
    """Seed of one generation of an episode.

    Args:
        seed: of the sample, as in bronze.rollouts.
        turn: ordinal of the policy's own turn, from 0.
    """
    return seed_from(seed, "turn", turn)


@dataclass(frozen=True, slots=True)
class Turns:
    """What the turns of one delivered rollout say of themselves.

    Attributes:
        roles: of each turn.
        last_text: of the last turn that the policy sampled; None where it has none.
        tokens: sampled tokens of all turns; None where a sampled turn does not tell them.
        logprobs: their log-probabilities; None where a sampled turn does not tell them.
        matched: in every turn the lists present are of one length.
        tokens_valid: no token id is null or negative.
        logprobs_valid: every log-probability of a sampled turn is finite and at most 0, up to rounding.
        gap: a turn that was not sampled lacks token ids although the policy spoke after it.
    """

    roles: tuple[str | None, ...]
    last_text: str | None
    tokens: int | None
    logprobs: int | None
    matched: bool
    tokens_valid: bool
    logprobs_valid: bool
    gap: bool

    @property
    def sampled(self) -> list[int]:
        """Positions of the policy's own turns."""
        return [k for k, role in enumerate(self.roles) if role == SAMPLED]


def read_turns(column: pa.Array) -> list[Turns | None]:
    """What each row of ``bronze.rollouts.turns`` says; None where it is null or empty: one response is all there is."""
    lengths = pc.list_value_length(column).fill_null(0).to_pylist()
    flat = column.flatten()
    ids, logprobs, versions = (flat.field(name) for name in ("token_ids", "logprobs", "weight_versions"))
    facts = {
        "role": flat.field("role").to_pylist(),
        "content": flat.field("content").to_pylist(),
        "ids": pc.list_value_length(ids).to_pylist(),
        "logprobs": pc.list_value_length(logprobs).to_pylist(),
        "versions": pc.list_value_length(versions).to_pylist(),
        "tokens_valid": all_hold(ids, is_token),
        "logprobs_valid": all_hold(logprobs, is_logprob),
    }
    out: list[Turns | None] = []
    begin = 0
    for length in lengths:
        out.append(_turns({name: values[begin : begin + length] for name, values in facts.items()}) if length else None)
        begin += length
    return out


def _turns(facts: dict[str, Any]) -> Turns:
    roles = tuple(facts["role"])
    own = [k for k, role in enumerate(roles) if role == SAMPLED]
    # A failed generation is a turn without content, and has no tokens to tell.
    whole = [k for k in own if facts["content"][k] is not None]
    counts = [facts["ids"][k] for k in whole]
    known = [facts["logprobs"][k] for k in whole]
    pairs = [(facts["ids"][k], facts[name][k]) for k in whole for name in ("logprobs", "versions")]
    return Turns(
        roles=roles,
        last_text=facts["content"][own[-1]] if own else None,
        tokens=None if None in counts else sum(counts),
        logprobs=None if None in known else sum(known),
        matched=all(held is None or held == count for count, held in pairs),
        tokens_valid=bool(np.all(facts["tokens_valid"])),
        logprobs_valid=all(bool(facts["logprobs_valid"][k]) for k in own),
        gap=any(facts["ids"][k] is None for k in range(whole[-1] if whole else 0) if roles[k] != SAMPLED),
    )


def calls_of(turns: Turns | None, trajectory_id: str, first: int, seed: int | None, program: str | None) -> list[dict[str, Any]]:
    """Position, id and seed of each engine call of a trajectory.

    Args:
        turns: None for a rollout of one response.
        trajectory_id: names it.
        first: turn index of the first turn after the prompt.
        seed: as delivered.
        program: only of our own agents is it known how the seeds of turns follow from it; others keep what was delivered.
    """
    places = turns.sampled if turns is not None else [0]
    return [
        {
            "place": place,
            "call_id": content_id(trajectory_id, first + place),
            "seed": turn_seed(seed, k) if turns is not None and seed is not None and program == "agent" else seed,
        }
        for k, place in enumerate(places)
    ]
