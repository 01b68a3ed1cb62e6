"""Shaping terms: penalties beside the reward, each a row of its own (kind ``shaping``), so that the raw reward stays what it was.

**Overlong** (R§5). With L tokens of response, Lmax allowed and a buffer of Lc before it::

    dapo       0 where L <= Lmax - Lc;  ((Lmax - Lc) - L) / Lc up to Lmax;  -1 beyond      (DAPO, eq. 13)
    openrlhf   -min(max(L - (Lmax - Lc), 0), Lc) / Lc: the same figure, clamped at -1
    verl       min(-(L - (Lmax - Lc)) / Lc, 0): the same up to Lmax, but without a lower clamp beyond
    truncated  -1 where the response was cut off, 0 elsewhere: the fixed penalty of OpenRLHF's and NeMo-RL's "stop properly"

each times ``factor``. Their other form, which multiplies a truncated reward by a coefficient, is left out: on an aligned score below 0 it
would pay for being cut off.

**Format**: -penalty times the share of the form that was missed; only where a format was asked for.

A term is null where what it needs is unknown (a dump without token ids has no length), and with it the shaped score.
"""

from __future__ import annotations

from typing import Literal

from schemas.ids import content_id
from udfs.rewards.functions import FUNCTIONS
from udfs.trajectories.rewards import Reward

Variant = Literal["dapo", "openrlhf", "verl", "truncated"]
#: Of the terms alone: stands as ``verifier_version`` in their rows.
VERSION = "1"


def overlong(length: int | None, max_tokens: int, buffer_tokens: int, variant: Variant = "dapo") -> float | None:
    """The term of one response, in units of its factor; None where the length is unknown.

    Args:
        length: tokens of the response.
        max_tokens: Lmax.
        buffer_tokens: Lc, in 1 .. Lmax.
        variant: whose formula; ``truncated`` takes a response of Lmax tokens or more for cut off (see :func:`truncated`).

    Raises:
        ValueError: the buffer is empty or longer than what is allowed.
    """
    if not 1 <= buffer_tokens <= max_tokens:
        msg = f"the buffer must hold 1 to {max_tokens} tokens, got {buffer_tokens}"
        raise ValueError(msg)
    if length is None:
        return None
    exceed = length - (max_tokens - buffer_tokens)
    if variant == "truncated":
        return truncated(length >= max_tokens)
    if exceed <= 0:
        return 0.0
    if variant == "verl":
        return -exceed / buffer_tokens
    return -min(exceed, buffer_tokens) / buffer_tokens


def truncated(cut_off: bool | None) -> float | None:
    """-1 where the response was cut off, 0 where it ended by itself; None where that is unknown."""
    return None if cut_off is None else -1.0 if cut_off else 0.0


def format_term(value: float | None, low: float = 0.0, high: float = 1.0) -> float | None:
    """-(share of the form that was missed), in units of the penalty; None where the form's reward is unknown."""
    return None if value is None else -(high - value) / (high - low) if value < high else 0.0


def shaping_row(name: str, term: float | None, factor: float, settings: dict[str, float | int | str]) -> Reward:
    """A term as a row in the form of silver.rewards.

    Args:
        name: registered shaping function.
        term: in units of ``factor``; None = unknown.
        factor: what a term of -1 costs, above 0.
        settings: what the term depends on beside the response; part of its id.

    Raises:
        KeyError: no function of that name is registered.
        ValueError: the term lies outside the function's declared range.
    """
    function = FUNCTIONS[name]
    if term is not None and not function.low <= term <= function.high:
        msg = f"{name}: {term} lies outside [{function.low}, {function.high}]"
        raise ValueError(msg)
    value = None if term is None else term * factor if term else 0.0
    verdict = "skipped" if term is None else "correct" if term == 0.0 else "partial" if term > -1.0 else "incorrect"
    config = content_id(name, factor, settings)
    return Reward(
        reward_name=name, verifier_run_id=content_id(name, VERSION, config), kind="shaping", value=value, weight=1.0, is_outcome=False,
        verdict=verdict, verifier_name=name, verifier_version=VERSION, verifier_config_hash=config, extracted_answer=None,
        gold_answer=None, flags=(), low=function.low * factor, high=function.high,
    )  # fmt: skip
