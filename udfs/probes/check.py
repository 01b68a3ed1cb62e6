"""All probes of one item, and the state that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from schemas.ids import text_hash
from udfs.language.identify import language_of
from udfs.language.model import UNDETERMINED, load_model
from udfs.probes.alternatives import is_yes_no
from udfs.probes.contracts import trial
from udfs.probes.evidence import Found, locate
from udfs.probes.item import PROBES, REJECTING, Checked, Item, State
from udfs.probes.leaks import leak
from udfs.probes.self_contained import dangling
from udfs.probes.words import find_words, is_spaceless, words

#: Version of the rules in this package; a change that can alter a state raises it.
RULES_VERSION = "1"
#: Code points of the context that help to tell the language of a question.
_SAMPLE = 160
#: Shortest answer of a sibling that is looked for: letters in scripts with spaces, code points elsewhere.
MIN_SIBLING = 4


@dataclass(frozen=True, slots=True)
class Note:
    """What the rest of the file says of a row.

    Attributes:
        base_rate: share of the items of its type (and language) that have its answer.
        same_type: how many items that are.
        duplicate_of: line or row of an earlier one with the same question over the same context or group.
        conflicting: that one has another answer.
        siblings: answers of other items of its group.
    """

    base_rate: float | None = None
    same_type: int | None = None
    duplicate_of: int | None = None
    conflicting: bool = False
    siblings: Sequence[str] = ()


@lru_cache(maxsize=4096)
def _language(text: str) -> str | None:
    language, _ = language_of(text.encode("utf-8", "replace"), load_model())
    return None if language == UNDETERMINED else language


def check_item(item: Item, note: Note) -> Checked:
    """Probe one item.

    Args:
        item: the row.
        note: what the rest of the file says of it.
    """
    probes: dict[str, Any] = dict(PROBES)
    language = item.language or _language(f"{item.question}\n{item.context[:_SAMPLE]}")
    probes["language"] = language
    reasons: list[str] = []
    found = locate(item.context, item.answer, item.answer_start, language)
    yes_no = is_yes_no(item.answer)
    grounded = _grounded(item, found, reasons, probes, unplaced=yes_no and item.answer_start is None)
    if yes_no:
        reasons.append("yes_no")
    else:
        _leak(item, language, reasons, probes)
    _contract(item, language, reasons, probes)
    pointer = dangling(item.question, language)
    probes["pointer"] = pointer or None
    if pointer:
        reasons.append("not_self_contained")
    _file(item, note, language, reasons, probes)
    span = found.evidence
    evidence = None if span is None else {"start": span.start, "end": span.end, "hash": span.hash_in(item.context)}
    state: State = "rejected" if any(reason in REJECTING for reason in reasons) else "flagged" if reasons else "accepted"
    return Checked(state, tuple(reasons), grounded, None if pointer is None else not pointer, evidence, probes)


def _same_hash(wanted: str, text: str) -> bool:
    """Whether a hash is that of a text; a whole sha256 counts by its first digits."""
    wanted = wanted.strip().casefold()
    return len(wanted) >= 32 and wanted[:32] == text_hash(text)


def _grounded(item: Item, found: Found, reasons: list[str], probes: dict[str, Any], *, unplaced: bool) -> bool | None:
    """The evidence: its reasons and figures, and whether it holds."""
    span = found.evidence
    probes |= {"match": span and span.match, "occurrences": found.occurrences, "nearest": found.nearest}
    before = len(reasons)
    if span is None and not unplaced:
        outside = item.answer_start is not None and not 0 <= item.answer_start < len(item.context)
        reasons.append("offset_outside" if outside else "answer_not_in_context" if found.nearest is None else "offset_wrong")
    if item.evidence_hash is not None and not _same_hash(item.evidence_hash, item.context[span.start : span.end] if span else ""):
        reasons.append("evidence_hash_mismatch")
    if item.context_hash is not None and not _same_hash(item.context_hash, item.context):
        reasons.append("context_hash_mismatch")
    grounded = len(reasons) == before
    if span is not None and span.inside_word:
        reasons.append("answer_inside_word")
    return None if span is None and grounded else grounded


def _leak(item: Item, language: str | None, reasons: list[str], probes: dict[str, Any]) -> None:
    told = leak(item.question, item.answer, language)
    probes |= {"leak": told.kind, "alternative": told.alternative, "overlap": told.overlap}
    if told.kind is not None:
        reasons.append("alternative_named" if told.alternative else f"leak_{told.kind}")


def _contract(item: Item, language: str | None, reasons: list[str], probes: dict[str, Any]) -> None:
    tried = trial(item.answer, item.answer_type, language)
    probes |= {"contract_type": tried.type, "contract": tried.outcome, "contract_tried": tried.tried, "contract_text": tried.text}
    if tried.outcome != "sound":
        reasons.append(f"contract_{tried.outcome}")


def _file(item: Item, note: Note, language: str | None, reasons: list[str], probes: dict[str, Any]) -> None:
    """What only the rest of the file can tell."""
    asked, own = words(item.question, language), words(item.answer, language)
    told = sum(_tells(asked, own, words(answer, language)) for answer in note.siblings)
    probes |= {
        "base_rate": note.base_rate, "same_type": note.same_type, "duplicate_of": note.duplicate_of, "siblings": len(note.siblings), "siblings_told": told,
    }  # fmt: skip
    if note.duplicate_of is not None:
        reasons.append("conflicting_answers" if note.conflicting else "duplicate_question")


def _tells(asked: tuple[str, ...], own: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a question holds the answer of another one, which is neither its own nor a trifle."""
    if not other or other == own or (sum(map(len, other)) < MIN_SIBLING and not is_spaceless(other[0])) or len(other) == 1 == len(other[0]):
        return False
    return bool(find_words(other, asked))
