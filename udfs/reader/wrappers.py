"""Forms of a response around an answer; which one is taken is part of the policy, so that format constraints can be learnt."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from udfs.reader.question import CUES, Prompt, Question

Floats = np.ndarray[Any, np.dtype[np.float64]]

WRAPPERS: tuple[str, ...] = ("plain", "answer_line", "reasoned", "json", "unit")
#: What a wrapper's weights multiply: 1, and whether the prompt has the cue.
WRAPPER_CUES: tuple[str, ...] = ("bias", *CUES, "choice")
_BARE_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*\Z")


def wrapper_names() -> tuple[str, ...]:
    """Names of the wrappers' weights, wrapper by wrapper."""
    return tuple(f"{wrapper}:{cue}" for wrapper in WRAPPERS for cue in WRAPPER_CUES)


def wrapper_matrix(question: Question) -> Floats:
    """One row a wrapper, one column a weight of ``wrapper_names``."""
    cues = np.asarray([1.0, *(float(cue in question.cues) for cue in WRAPPER_CUES[1:])])
    x = np.zeros((len(WRAPPERS), len(WRAPPERS) * len(cues)), order="F")
    for k in range(len(WRAPPERS)):
        x[k, k * len(cues) : (k + 1) * len(cues)] = cues
    return x


def wrap(wrapper: str, answer: str, prompt: Prompt, question: Question) -> str:
    """The response that gives ``answer`` in a form; a form that does not fit the answer leaves it plain."""
    if wrapper == "answer_line":
        return f"Answer: {answer}"
    if wrapper == "reasoned":
        return f"{_reason(prompt)}\nAnswer: {answer}"
    if wrapper == "json":
        return json.dumps({"answer": answer}, ensure_ascii=False)
    if wrapper == "unit" and question.unit is not None and _BARE_NUMBER.match(answer):
        return f"{answer} {question.unit}"
    return answer


def _reason(prompt: Prompt) -> str:
    if prompt.options:
        return "This option fits the question best."
    subject = " ".join(prompt.subject.split())[:40]
    return f"The passage on {subject} says so." if subject else "The passage says so."
