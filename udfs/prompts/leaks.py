"""Does a closed-book prompt contain an answer word for word?"""

from __future__ import annotations

from functools import lru_cache

from schemas.contract import AnswerContract
from udfs.grading.texts import is_code_like, normalise_code, normalise_text
from udfs.text.normalise import normalise, squeeze


@lru_cache(maxsize=4096)
def _key(text: str) -> str:
    return squeeze(normalise(text))


def _whole(text: str, key: str) -> bool:
    """Whether ``key`` stands in ``text`` without a letter, digit or underscore on either side."""
    at = text.find(key)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(key) : at + len(key) + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return True
        at = text.find(key, at + 1)
    return False


def contains(prompt: str, answer: str) -> bool:
    """Whether the answer stands in the prompt as a whole, case and white space aside.

    Args:
        prompt: everything that is shown.
        answer: gold or alias; also tried without what grading leaves out around it (quotes; article and punctuation of words).
    """
    shown = _key(prompt)
    bare = _key(normalise_code(answer)) if is_code_like(answer) else normalise_text(answer)
    return any(_whole(shown, key) for key in {_key(answer), bare} if key)


def given_away(contract: AnswerContract, answer: str, prompt: str) -> str | None:
    """The gold or the alias that a closed-book prompt contains; None where it contains none.

    Args:
        contract: contract of the task.
        answer: gold as it stands in the evidence.
        prompt: system and user message, without the options of a choice.
    """
    golds = (answer, *(() if contract.type == "choice" else (contract.gold, *contract.aliases)))
    return next((gold for gold in golds if contains(prompt, gold)), None)
