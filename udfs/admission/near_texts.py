"""Wrong texts and wrong choices that look right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemas.contract import AnswerContract
from schemas.ids import content_id
from udfs.grading.texts import is_code_like

_OPPOSITES = {"True": "False", "False": "True", "None": "0"}


def changed_characters(text: str, seed: str) -> Iterator[str]:
    """One character of a name changed, dropped, doubled; positions derived from the seed."""
    places = [i for i, c in enumerate(text) if c.isalnum()]
    places.sort(key=lambda i: content_id("near_miss", seed, i))
    for i in places[:2]:
        c = text[i]
        other = str((int(c) + 1) % 10) if c.isdigit() and c.isascii() else ("x" if c not in "xX" else "z")
        yield text[:i] + other + text[i + 1 :]
    if len(places) > 2:
        yield text[: places[0]] + text[places[0] + 1 :]
        yield text[: places[1]] + text[places[1]] + text[places[1] :]


def texts(contract: AnswerContract, others: Sequence[str], seed: str) -> Iterator[str]:
    """Other answers, a word dropped, truncation, two answers at once, a changed character, the case of code, a denial."""
    gold = contract.gold
    others = [other for other in others if other.strip()]
    yield from others[:3]
    words = gold.split()
    if len(words) > 1:
        yield from (" ".join(words[:-1]), " ".join(words[1:]))
    elif len(gold) > 4:
        yield gold[: len(gold) // 2]
    yield from changed_characters(gold, seed)
    if is_code_like(gold):
        if gold in _OPPOSITES:
            yield _OPPOSITES[gold]
        yield gold.swapcase()
    yield f"{gold} or {others[0] if others else 'something else'}"
    yield f"not {gold}"


def choices(contract: AnswerContract) -> Iterator[str]:
    """Other letters, their texts, two at once, the gold's letter with another text, another letter with the gold's, a denial."""
    letters = [chr(65 + i) for i in range(max(len(contract.options), 2))]
    wrong = [letter for letter in letters if letter != contract.gold]
    yield from wrong[:3]
    yield f"{contract.gold} and {wrong[0]}"
    for letter in wrong[:2]:
        if contract.options:
            text = contract.options[ord(letter) - 65]
            yield from (text, f"{contract.gold}. {text}")
    if contract.options and len(contract.gold) == 1 and 0 <= ord(contract.gold) - 65 < len(contract.options):
        yield f"{wrong[0]} ({contract.options[ord(contract.gold) - 65]})"
    yield f"not {contract.gold}"
