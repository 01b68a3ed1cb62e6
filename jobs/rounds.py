"""The life of a round in the ledger: planned, rolled_out, checked, closed, published, tracked."""

from __future__ import annotations

from jobs.context import JobContext
from jobs.ledger import append_event, read_events
from schemas.gold.round_plan import ROUND_PLAN
from schemas.ids import canonical_json, content_id
from schemas.ops.rounds import ROUNDS

SEQUENCE = {"planned": 1, "rolled_out": 2, "checked": 3, "closed": 4, "published": 5, "tracked": 6}


def planned_policy(ctx: JobContext, round_no: int) -> str:
    """The checkpoint that the round's plan names; empty where the ledger knows none."""
    events = [e for e in read_events(ctx.lake, ROUNDS) if e["round"] == round_no and e["state"] == "planned"]
    return str(max(events, key=lambda e: (e["at"], e["event_id"]))["policy_id"]) if events else ""


def policy_of(ctx: JobContext, round_no: int) -> str:
    """The checkpoint that the plan names; by the ledger, by the plan's own rows where that does not know."""
    known = planned_policy(ctx, round_no)
    if known:
        return known
    first = ctx.read(ROUND_PLAN, round_no).select("policy_id").distinct().limit(2).collect()
    return str(first[0]["policy_id"]) if len(first) == 1 else ""


def note_state(ctx: JobContext, round_no: int, state: str, *, policy_id: str, fingerprint: str) -> None:
    """Append that a station brought the round to ``state``; once for each fingerprint."""
    append_event(ctx.lake, ROUNDS, {
        "event_id": content_id(round_no, state, fingerprint), "round": round_no, "state": state, "seq": SEQUENCE[state], "policy_id": policy_id,
        "fingerprint": fingerprint, "detail": canonical_json({}), "at": ctx.now,
    })  # fmt: skip


def is_closed(ctx: JobContext, round_no: int) -> bool:
    """Whether feedback has closed the round."""
    return any(event["round"] == round_no and event["state"] == "closed" for event in read_events(ctx.lake, ROUNDS))
