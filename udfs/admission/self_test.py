"""A contract tried on itself: what is right must be accepted, near misses rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.contract import AnswerContract
from udfs.admission.near_misses import near_misses
from udfs.grading import grade
from udfs.grading.dates import parse_date
from udfs.grading.maths import TYPES
from udfs.grading.texts import is_code_like

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What the trial found: first refused right answer, first accepted wrong one, and how many were tried."""

    refused: str | None
    verdict: str | None
    accepted: str | None
    n_right: int
    n_near_misses: int


def rewritings(contract: AnswerContract) -> tuple[str, ...]:
    """The gold in other spellings that must count as right.

    Args:
        contract: number (with unit, with a decimal zero), date (three formats), text (quoted, with other white space and case where it is no
            code), choice (letter forms and the option's text) or mathematics (boxed, between dollar signs).
    """
    gold = contract.gold
    made = [gold, f"Answer: {gold}", f"  {gold} "]
    if contract.type == "number":
        if gold.isdecimal() and gold.isascii() and len(gold) < 100:
            made += [f"{int(gold):,}", f"{gold}.0"]
        if contract.unit and gold[-1:].isdigit():
            made.append(f"{gold} {contract.unit}")
    elif contract.type == "date":
        iso = parse_date(gold)
        made += [iso] if iso else []
        if iso and len(iso) == 10 and iso[0] != "-":
            year, month, day = iso.split("-")
            made += [f"{int(day)} {_MONTHS[int(month) - 1]} {year}", f"{_MONTHS[int(month) - 1]} {int(day)}, {year}"]
    elif contract.type == "choice":
        made += [f"({gold})", f"{gold}."]
        if len(gold) == 1 and 0 <= ord(gold) - 65 < len(contract.options):
            text = contract.options[ord(gold) - 65]
            made += [f"{gold}. {text}", text]
    elif contract.type in TYPES:  # case carries meaning
        made += [f"\\boxed{{{gold}}}", f"${gold}$."]
    else:
        made.append(f"`{gold}`")
        if not is_code_like(gold):
            made += [gold.upper(), gold.lower(), f"\u201c{gold}\u201d"]
    return tuple(dict.fromkeys(made))


def self_test(contract: AnswerContract, answer: str, *, others: Sequence[str] = (), seed: str = "", limit: int = 8) -> SelfTest:
    """Try a contract on its gold, its aliases, the answer as it stands in the evidence, rewritings and near misses.

    Args:
        contract: the contract.
        answer: the answer as it stands in the evidence.
        others: other answers that must be wrong.
        seed: an id, for near misses.
        limit: at most so many near misses.
    """
    right = (answer, *contract.aliases, *rewritings(contract))
    refused = verdict = None
    for text in right:
        got = grade(contract, text)
        if got.verdict != "correct":
            refused, verdict = text, got.verdict
            break
    wrong = near_misses(contract, others=others, seed=seed, limit=limit)
    accepted = next((text for text in wrong if grade(contract, text).reward == 1.0), None)
    return SelfTest(refused, verdict, accepted, len(right), len(wrong))
