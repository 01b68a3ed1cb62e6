"""Options of the choice form: the gold among wrong answers of its kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from schemas.contract import AnswerContract
from schemas.ids import content_id
from udfs.grading import grade
from udfs.grading.choices import same_option

#: A choice between two is a coin: the form needs at least so many sound options, the gold included.
MIN_OPTIONS = 3
#: Longest text shown as an option, in code points.
MAX_OPTION = 200


@dataclass(frozen=True, slots=True)
class Options:
    """Texts in the order of their letters, and the gold's letter."""

    texts: tuple[str, ...]
    letter: str

    @property
    def block(self) -> str:
        """One line per option: ``A. text``."""
        return "\n".join(f"{chr(65 + i)}. {text}" for i, text in enumerate(self.texts))


def one_line(text: str) -> str:
    """Text with every run of white space as one space: what is quoted cannot draw lines of its own."""
    return " ".join(text.split())


_SHAPES = (
    ("singleton", re.compile(r"None|True|False")),
    ("number", re.compile(r"[-+]?(?:0x)?[\d.,_a-fA-F]*\d[\d.,]*(?: ?\S{1,12})?")),
    ("literal", re.compile(r"[bru]{0,2}(['\"]).*\1")),
    ("dunder", re.compile(r"__\w+__")),
    ("dotted", re.compile(r"[A-Za-z_]\w*(?:\.\w+)+(?:\(\))?")),
    ("capital", re.compile(r"[A-Z]\w*")),
    ("lower", re.compile(r"[a-z_]\w*(?:\(\))?")),
)


def shape_of(text: str) -> str:
    """What an answer looks like: an option of another shape than its neighbours gives itself away."""
    return next((name for name, pattern in _SHAPES if pattern.fullmatch(text)), "words")


def sound_options(
    contract: AnswerContract, answer: str, distractors: Sequence[str], pool: Sequence[str], *, n: int, seed: str
) -> Options | None:
    """Build the options of a choice; None where fewer than ``MIN_OPTIONS`` are sound.

    The item's own distractors come first, then same-kind answers of the pool, those of the gold's
    shape first, in an order derived from ``seed``. No option equals another,
    and the contract calls none but the gold correct. Letters are dealt in an order derived from ``seed`` too.

    Args:
        contract: contract of the task (not yet of the choice).
        answer: gold as shown.
        distractors: the item's wrong answers, best first.
        pool: answers of other tasks of its kind, in any order.
        n: wished number of options, 2 to 26.
        seed: an id.
    """
    gold = one_line(answer)
    if not gold or len(gold) > MAX_OPTION:
        return None
    chosen = [gold]
    shape = shape_of(gold)
    topping = sorted({one_line(text) for text in pool}, key=lambda text: (shape_of(text) != shape, content_id("pool", seed, text)))
    for text in (*map(one_line, distractors), *topping):
        if len(chosen) == n:
            break
        if not text or len(text) > MAX_OPTION or any(same_option(a, text) or same_option(text, a) for a in chosen):
            continue
        if grade(contract, text).reward == 0.0:
            chosen.append(text)
    if len(chosen) < MIN_OPTIONS:
        return None
    dealt = tuple(sorted(chosen, key=lambda text: content_id("option", seed, text)))
    return Options(dealt, chr(65 + dealt.index(gold)))
