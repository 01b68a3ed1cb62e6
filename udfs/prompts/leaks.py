"""Does a closed-book prompt contain an answer word for word?"""

from __future__ import annotations

import re
from functools import lru_cache

from schemas.contract import AnswerContract
from udfs.grading.texts import normalise_text
from udfs.text.normalise import normalise, squeeze


@lru_cache(maxsize=4096)
def _key(text: str) -> str:
    return squeeze(normalise(text))


def contains(prompt: str, answer: str) -> bool:
    """Whether the answer stands in the prompt as a whole, case and white space aside.

    Args:
        prompt: everything that is shown.
        answer: gold or alias; also tried without quotes, article and punctuation around it.
    """
    shown = _key(prompt)
    bare = normalise_text(answer)
    return any(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", shown) for key in {_key(answer), bare} if key)


def given_away(contract: AnswerContract, answer: str, prompt: str) -> str | None:
    """The gold or the alias that a closed-book prompt contains; None where it contains none.

    Args:
        contract: contract of the task.
        answer: gold as it stands in the evidence.
        prompt: system and user message, without the options of a choice.
    """
    golds = (answer, *(() if contract.type == "choice" else (contract.gold, *contract.aliases)))
    return next((gold for gold in golds if contains(prompt, gold)), None)
