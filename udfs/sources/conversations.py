"""Conversations that went wrong: a task where the outcome names an answer that can be verified, else a candidate that is refused by name.

Personal data is masked in every text before an item is made of it, so that nothing of it is stored anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from udfs.pii.find import find_pii
from udfs.pii.kinds import PLACEHOLDERS
from udfs.pii.mask import mask
from udfs.sources.contracts import GOLD_FIELDS, contract_from
from udfs.sources.item import RecordError, SourceItem, wanted

_ROLES = {
    "user": "User",
    "human": "User",
    "assistant": "Assistant",
    "gpt": "Assistant",
    "bot": "Assistant",
    "system": "System",
    "tool": "Tool",
}
_FAILED = frozenset({"failed", "failure", "fail", "error", "incorrect", "wrong", "rejected", "unresolved", "negative", "false"})
_SUCCEEDED = frozenset({"succeeded", "success", "correct", "passed", "accepted", "resolved", "positive", "true"})
#: A score from 0 to 1 below this is a failure.
PASS_SCORE = 0.5
_CORRECT = ("correct_answer", *GOLD_FIELDS)
_LEAD = "Here is a conversation up to its last message. Reply to that message."


def masked(value: Any) -> Any:
    """A JSON value with the personal data in each of its texts replaced by placeholders."""
    if isinstance(value, str):
        return mask(value, find_pii(value))
    if isinstance(value, Mapping):
        return {masked(str(name)): masked(inner) for name, inner in value.items()}
    return [masked(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def conversations(record: Mapping[str, Any]) -> SourceItem:
    """``messages`` (or ``conversations``) of role and content; ``outcome``: a word, a score from 0 to 1, or an object with ``state`` and ``answer``.

    What is asked is the conversation up to the reply that failed. Refused: ``no_outcome``, ``not_a_failure``, ``no_verifiable_answer``
    (a regression candidate that a person must write a contract for), ``answer_is_personal``.

    Raises:
        RecordError: there is no message of a user.
    """
    record = masked(record)
    turns = _turns(record)
    question = _asked(turns)
    about, ident = wanted(record, "domain", "topic") or "conversation", wanted(record, "id", "conversation_id")
    failed = _has_failed(record)
    facts = _answer_fields(record)
    if failed is None:
        refused = "no_outcome"
    elif not failed:
        refused = "not_a_failure"
    elif facts is None:
        refused = "no_verifiable_answer"
    else:
        gold, contract = contract_from(facts)
        if not find_pii(gold) and not any(place in gold for place in PLACEHOLDERS.values()):
            return SourceItem(_KIND, question, gold, contract, domain=about, ident=ident)
        refused = "answer_is_personal"
    return SourceItem(_KIND, question, refused=refused, domain=about, ident=ident)


_KIND = "failed_conversation"


def _turns(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Role and text of every message up to the last of a user.

    Raises:
        RecordError: there are no messages, or none of a user.
    """
    messages = record.get("messages") or record.get("conversations")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        raise RecordError("no_text", "no field 'messages' with a list of messages")
    turns = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise RecordError("bad_value", "a message is no object with role and content")
        role = _ROLES.get(wanted(message, "role", "from").casefold())
        if role is None:
            raise RecordError("bad_value", f"a message has the role {wanted(message, 'role', 'from')[:40]!r}")
        turns.append((role, _content(message.get("content", message.get("value")))))
    asked = [at for at, (role, text) in enumerate(turns) if role == "User" and text.strip()]
    if not asked:
        raise RecordError("no_text", "no message of a user")
    return turns[: asked[-1] + 1]


def _content(value: Any) -> str:
    """A message's text; of a list of parts that of the textual ones."""
    if isinstance(value, list):
        return "\n".join(str(part.get("text", "")) for part in value if isinstance(part, Mapping) and part.get("type", "text") == "text")
    return value if isinstance(value, str) else ""


def _asked(turns: Sequence[tuple[str, str]]) -> str:
    if len(turns) == 1:
        return turns[0][1].strip()
    return "\n\n".join([_LEAD, *(f"{role}: {text.strip()}" for role, text in turns if text.strip())])


def _has_failed(record: Mapping[str, Any]) -> bool | None:
    """Whether the outcome says so; None where it says nothing that is known."""
    outcome: Any = record.get("outcome", record.get("score"))
    if isinstance(outcome, Mapping):
        outcome = next((outcome[name] for name in ("state", "status", "result", "score") if outcome.get(name) is not None), None)
    if isinstance(outcome, bool):
        return not outcome
    if isinstance(outcome, (int, float)):
        return outcome < PASS_SCORE
    said = outcome.strip().casefold() if isinstance(outcome, str) else ""
    return True if said in _FAILED else False if said in _SUCCEEDED else None


def _answer_fields(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields that make a contract, from the outcome or else from the record itself; None where neither names an answer."""
    outcome = record.get("outcome")
    for held in (outcome if isinstance(outcome, Mapping) else {}, record):
        name = next((name for name in _CORRECT if held.get(name) not in (None, "", [])), None)
        if name is not None:
            return {**held, "answer": held[name]}
    return None
