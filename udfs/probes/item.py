"""A question-answer item as it is read from a plain file, and what the probes say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from udfs.verifiers.rows import RowError

#: Fields that the contract of ``verilake check-qa`` knows; the others are carried through as they came, and so are these.
FIELDS = (
    "id", "question", "answer", "context", "answer_start", "answer_type", "language", "group", "evidence_hash", "context_hash",
)  # fmt: skip
#: Fields of a checked row; an input field of such a name is replaced, so that a file that was checked can be checked again.
RESULTS = ("state", "reasons", "grounded", "self_contained", "evidence", "probes")
State = Literal["accepted", "flagged", "rejected"]

#: Reasons that reject: the answer is not grounded, given away, or not of its type.
REJECTING = (
    "answer_not_in_context", "offset_wrong", "offset_outside", "evidence_hash_mismatch", "context_hash_mismatch", "leak_verbatim", "leak_inflected", "leak_number",
    "contract_unreadable",
)  # fmt: skip
#: Reasons that only raise a doubt.
FLAGGING = (
    "answer_inside_word", "alternative_named", "yes_no", "contract_unread", "contract_accepts_near_miss", "not_self_contained", "duplicate_question",
    "conflicting_answers",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Item:
    """The fields of one row, of the right types.

    Attributes:
        question, answer, context: not blank.
        answer_start: first code point of the answer in the context; None where the row names none.
        answer_type: as the row names it.
        language: ISO 639-1; None where the row names none.
        group: items of one group may answer each other; None: those of one context are one.
        evidence_hash, context_hash: hashes that answer and context must have (:func:`schemas.ids.text_hash`).
    """

    question: str
    answer: str
    context: str
    answer_start: int | None = None
    answer_type: str | None = None
    language: str | None = None
    group: str | None = None
    evidence_hash: str | None = None
    context_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """What a row got.

    Attributes:
        state: rejected where a reason rejects (or the row cannot be read), flagged where one raises a doubt.
        reasons: codes, see ``REJECTING`` and ``FLAGGING``; of a row that cannot be read what is wrong with it.
        grounded: whether the context says the answer where it should; null where that is no question (yes, no) or the row cannot be read.
        self_contained: whether the question can be understood alone; null where nobody can tell.
        evidence: ``start``, ``end`` (code points), ``hash``.
        probes: the figures, see :data:`PROBES`.
        readable: False where the row itself is at fault.
    """

    state: State
    reasons: tuple[str, ...]
    grounded: bool | None = None
    self_contained: bool | None = None
    evidence: Mapping[str, Any] | None = None
    probes: Mapping[str, Any] = field(default_factory=lambda: dict(PROBES))
    readable: bool = True


#: Figures of a row that was not probed: all there, all null.
PROBES: dict[str, Any] = dict.fromkeys(
    (
        "language", "match", "occurrences", "nearest", "leak", "alternative", "overlap", "contract_type", "contract", "contract_tried", "contract_text", "pointer",
        "base_rate", "same_type", "duplicate_of", "siblings", "siblings_told",
    )
)  # fmt: skip


def unreadable(*flags: str) -> Checked:
    """A row that cannot be probed, and why."""
    return Checked("rejected", tuple(sorted(flags)), readable=False)


def read_item(fields: Mapping[str, Any]) -> Item:
    """The typed fields of a row; null stands for a field that is not there.

    Raises:
        RowError: a flag for every field that is missing, blank or of another type: ``missing_answer``, ``empty_question``, ``wrong_type_context``.
    """
    found: dict[str, Any] = {}
    flags = [f"missing_{name}" for name in ("question", "answer", "context") if fields.get(name) is None]
    for name, read in _READ.items():
        value = fields.get(name)
        if value is None:
            continue
        try:
            found[name] = read(value)
        except (TypeError, ValueError, OverflowError):
            flags.append(f"wrong_type_{name}")
    flags += [f"empty_{name}" for name in ("question", "answer", "context") if name in found and not found[name].strip()]
    if flags:
        raise RowError(*flags)
    return Item(**found)


def _text(value: Any) -> str:
    """A text, or a number as it is spelt; a number's own text is a subclass of str, see :class:`udfs.verifiers.rows.Written`."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise TypeError


def _offset(value: Any) -> int:
    if isinstance(value, bool) or type(value) is str or not isinstance(value, (int, float, str)):
        raise TypeError
    number = float(value)
    if number != int(number):
        raise ValueError
    return int(number)


def _string(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _language(value: Any) -> str:
    return _string(value).strip().casefold().replace("_", "-").partition("-")[0]


_READ: dict[str, Callable[[Any], Any]] = {
    "question": _string, "answer": _text, "context": _string, "answer_start": _offset, "answer_type": _string, "language": _language, "group": _text,
    "evidence_hash": _string, "context_hash": _string,
}  # fmt: skip
