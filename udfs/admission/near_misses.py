"""Wrong answers that look right: what a sound contract must reject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from schemas.contract import AnswerContract
from udfs.admission.near_formulas import formulas
from udfs.admission.near_texts import choices, texts
from udfs.admission.near_values import dates, numbers
from udfs.grading.maths import TYPES
from udfs.grading.numbers import parse_gold
from udfs.grading.texts import is_code_like

_QUOTES = str.maketrans(dict.fromkeys("'\"\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb", " "))


def _core(text: str) -> str:
    """Letters, digits and signs that carry meaning, for telling a near miss from a re-spelling without asking the grader."""
    words = [w for w in text.casefold().translate(_QUOTES).split() if w not in ("the", "a", "an")]
    return " ".join(w.strip(".,;:!?`()[]{}*") or w for w in words)


def _is_respelling(contract: AnswerContract, text: str) -> bool:
    if contract.type != "text":
        return text in contract.aliases
    golds = (contract.gold, *contract.aliases)
    if any(is_code_like(gold) for gold in golds):
        return any(text.strip().strip("'\"`") == gold.strip().strip("'\"`") for gold in golds)
    return any(_core(text) == _core(gold) for gold in golds)


def _made(contract: AnswerContract, others: Sequence[str], seed: str) -> Iterable[str]:
    if contract.type == "number":
        return numbers(contract)
    if contract.type == "date":
        return dates(contract)
    if contract.type == "choice":
        return choices(contract)
    return formulas(contract, others, seed) if contract.type in TYPES else texts(contract, others, seed)


def near_misses(contract: AnswerContract, *, others: Sequence[str] = (), seed: str = "", limit: int = 8) -> tuple[str, ...]:
    """Wrong answers for one contract, most telling first.

    They are made from the gold by rules that know nothing of the grader, so that a contract (or a grader) that is too lenient shows. A
    respelling of the gold or of an alias is none.

    Args:
        contract: whose gold they miss.
        others: answers of other items or distractors (texts).
        seed: an id that decides which characters change.
        limit: at most so many.
    """
    gold = parse_gold(contract.gold, contract.unit) if contract.type == "number" else None
    kept: dict[str, None] = {}
    for text in _made(contract, others, seed):
        if (
            not text.strip()
            or text == contract.gold
            or _is_respelling(contract, text)
            or (gold is not None and _zero_twin(gold.value, text))
        ):
            continue
        kept.setdefault(text)
        if len(kept) == limit:
            break
    return tuple(kept)


def _zero_twin(value: Fraction, text: str) -> bool:
    """Multiples and the negative of zero are zero; swapped digits may restore the value (1.0 has none left to swap)."""
    try:
        return Fraction(text) == value
    except ValueError:
        return False
