"""Answers in mathematics under a contract: our own exact comparison first, math-verify in killable processes for the rest."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from schemas.contract import AnswerContract, Verdict
from udfs.grading import pool
from udfs.grading.choices import choose
from udfs.grading.equality import same_by_type
from udfs.grading.latex import UnreadableError, words_of
from udfs.grading.numbers import NOT_PLAIN, compare, parse_quantity
from udfs.grading.primaries import Node
from udfs.grading.scalars import Rules, rational
from udfs.grading.syntax import parse
from udfs.grading.texts import LEAD, normalise_text

#: Types that this module grades.
TYPES = frozenset({"expression", "set", "interval", "list"})

_PLAIN_NUMBER = re.compile(r"[-+]?[0-9]{1,40}(?:\.[0-9]{1,40})?\Z")
_PLAIN_FRACTION = re.compile(r"(-?)\\?(?:[dt]?frac\{([0-9]{1,40})\}\{([0-9]{1,40})\}|([0-9]{1,40})/([0-9]{1,40}))\Z")
_LEAD_TEXT = re.compile(r"\A\s*\\text\s*\{[^{}]{0,80}?(?:\bis|[:=])\s*\}\s*")
_LEAD_PLAIN = re.compile(r"\A(?:final\s+)?answer\s*[:=]\s*", re.IGNORECASE)
_LOOK = re.compile(r"\\(?:left|right)\b|\s+")
_ONLY_WORDS = re.compile(r"[^\W\d_](?:[^\W\d_]|[ .'\u2019,-](?! ))*[.!]?\Z")
_RUN = re.compile(r"[^\W\d_]{2,}")
_NAME = re.compile(r"[A-Z][a-z]{1,2}\Z")
_LETTER = re.compile(r"\(?([A-Z])\)?\Z")
#: What stands between the items of a set or a list.
SEPARATOR = re.compile(r"\s*[,;\n]\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+")
_BRACKETS = (("\\{", "\\}"), ("{", "}"), ("[", "]"), ("(", ")"))
_NOWHERE = frozenset({"dne", "does not exist", "undefined"})
#: What math-verify is known to read wrongly (dots, quantifiers, ratios, subscripts, percent and degree signs, text, dates): never asked.
_NEVER_ASKED = re.compile(
    r"\\(?:[lc]?dots[cbmio]?|forall|exists|text|mbox|circ|degree|boxed|pm|mp|langle)\b|\.\.|:|;|%|\d\s*_|\d\s+\d|\u00b0|\u2026|&|\d{4}-\d|\d,\d"
)
_LETTERS = re.compile(r"(?<!\\)(?<![A-Za-z])[A-Za-z]{3,}")
_ANYTHING = re.compile(r"[0-9A-Za-z]")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_OPENS = re.compile(r"\A(?:\\left|\s)*(\\\{|[(\[])")
_RELATIONS = re.compile(r"\\(?:leq?|geq?|lt|gt|neq?|in|cup|cap|to)\b|[=<>,]")
_BOUNDS = re.compile(r"_\{[^{}]*\}")
_LONG_NUMBER = re.compile(r"\d{9,}")
#: A number that no gold is likely to be, to try a gold on.
_PROBE = "271828"
#: Longest and deepest formula that math-verify is asked about.
MAX_ASKED = 512
MAX_ASKED_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what was noticed."""

    verdict: Verdict
    flags: tuple[str, ...] = ()


_CORRECT, _INCORRECT = Judgement("correct"), Judgement("incorrect")


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold as it is compared: a tree, or words, or neither (then only math-verify may read it).

    Attributes:
        text: without dollar signs and the like.
        node: its tree.
        words: as compared, one or the items of a set or list.
        number: the rational that it is, also beside a unit.
        plain: the rational that it is without a unit.
    """

    text: str
    node: Node | None
    words: tuple[str, ...] | None
    number: Fraction | None
    plain: Fraction | None


def _bare(text: str) -> str:
    """Without dollar signs, emphasis and a lead such as ``The answer is`` around the formula."""
    text = text.strip().strip("*`").strip()
    if text.startswith("$"):
        text = text.strip("$ ")
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1].rstrip("$ ")
    text = _LEAD_PLAIN.sub("", LEAD.sub("", text))
    return _LEAD_TEXT.sub("", text) if text.startswith("\\text") else text


@lru_cache(maxsize=4096)
def _read(text: str, *, thousands: bool) -> Node | None:
    try:
        return parse(text, thousands=thousands)
    except (UnreadableError, RecursionError, OverflowError):
        return None


def _plain_value(text: str) -> Fraction | None:
    """The value of a plain integer, decimal or fraction; None where it is anything else."""
    if _PLAIN_NUMBER.match(text):
        return Fraction(text)
    found = _PLAIN_FRACTION.match(text)
    if found is None:
        return None
    sign, a, b, c, d = found.groups()
    bottom = int(b or d)
    return Fraction(int(f"{sign}{a or c}"), bottom) if bottom else None


def _thousands(kind: str) -> bool:
    """``1,000`` is one number, except among the items of a set or a list."""
    return kind in ("expression", "interval")


def _items(text: str, kind: str) -> tuple[str, ...]:
    """Words as compared: one text, or the items of a set or a list."""
    text = words_of(text)
    if kind not in ("set", "list"):
        return (normalise_text(text),)
    for left, right in _BRACKETS:
        if text.startswith(left) and text.endswith(right):
            text = text[len(left) : -len(right)]
            break
    return tuple(normalise_text(item) for item in SEPARATOR.split(text.strip()) if item.strip())


def _is_words(text: str, kind: str) -> bool:
    r"""Whether a gold is words and no formula: ``\text{Evelyn}``, ``New York``; a run of two or three letters is a product unless it looks like a name."""
    plain = words_of(text)
    if kind in ("set", "list"):
        return any(
            _RUN.search(_COMMAND.sub("", item)) and _is_words(item.strip("\\{}()[] "), "expression") for item in SEPARATOR.split(plain)
        )
    if "\\" in plain or not _ONLY_WORDS.match(plain) or not plain:
        return False
    runs = _RUN.findall(plain)
    return plain != text.strip() or any(len(run) > 3 for run in runs) or len(runs) > 1 or bool(runs and _NAME.match(plain))


@lru_cache(maxsize=8192)
def _gold(text: str, kind: str) -> Gold:
    bare = _bare(text)
    node = _read(bare, thousands=_thousands(kind))
    words = (node is None or node[0] in ("text", "unit", "mul", "sym", "list", "seq")) and kind != "interval" and (
        _is_words(bare, kind) or (node is not None and node[0] == "text")
    )  # fmt: skip
    value = node[1] if node is not None and node[0] == "unit" else node
    number = rational(value) if value is not None and kind == "expression" else None
    plain = number if node is not None and node[0] not in ("unit", "based") else None
    return Gold(bare, None if words else node, _items(bare, kind) if words else None, number, plain)


def _rules(contract: AnswerContract) -> Rules:
    tolerance = Fraction(Decimal(repr(contract.tolerance))) if contract.tolerance else Fraction(0)
    return Rules(contract.type, ordered=contract.ordered, tolerance=tolerance, unit=contract.unit)


def own_verdict(contract: AnswerContract, gold: str) -> bool | None:
    """Whether our own reader takes a gold for itself; None where only math-verify, in a process of its own, could tell.

    Args:
        contract: type and latitude.
        gold: its gold or one of its aliases.
    """
    known = _gold(gold, contract.type)
    if known.words is not None:
        return any(known.words)
    if known.node is None or known.node[0] == "dots":
        return None
    return same_by_type(known.node, known.node, _rules(contract))


def gold_verdict(contract: AnswerContract, gold: str) -> Verdict:
    """Whether a gold is accepted by its own grader in both directions: ``correct``, else ``unparsable_gold``; ``error`` where nobody could tell.

    Args:
        contract: type and latitude.
        gold: its gold or one of its aliases.
    """
    own = own_verdict(contract, gold)
    known = _gold(gold, contract.type)
    if own is not None or not known.text or not _may_ask(known.text, known.text):
        return "correct" if own else "unparsable_gold"
    # Equal to itself by its text, a gold may still take for ever beside another value.
    for other, wanted in ((known.text, ("same",)), (_PROBE, ("same", "different", "one_direction"))):
        outcome = pool.ask(known.text, other).outcome
        if outcome not in wanted:
            return "error" if outcome == "unavailable" else "unparsable_gold"
    return "correct"


def _deepest(text: str) -> int:
    """Deepest nesting of brackets."""
    depth = deepest = 0
    for sign in text:
        depth += (sign in "({[") - (sign in ")}]")
        deepest = max(deepest, depth)
    return deepest


def _may_ask(gold: str, answer: str) -> bool:
    """Whether math-verify may be asked: one formula each, in one notation, without what it is known to accept wrongly."""
    for text in (gold, answer):
        if (
            len(text) > MAX_ASKED
            or not _ANYTHING.search(text)
            or _NEVER_ASKED.search(text)
            or _LETTERS.search(_COMMAND.sub(" ", text))
            or _LONG_NUMBER.search(text)
        ):
            return False
        if _deepest(text) > MAX_ASKED_DEPTH:
            return False
    opens, said = _OPENS.match(gold), _OPENS.match(answer)
    if (opens and opens.group(1)) != (said and said.group(1)):
        return False
    # It takes the last side of an equation, a pair for an interval, and rounds to six digits where a decimal stands.
    relations = [set(_RELATIONS.findall(_BOUNDS.sub("", text))) for text in (gold, answer)]
    return relations[0] == relations[1] and ("." not in answer or "." in gold)


def _asked(gold: str, answer: str) -> Judgement:
    opinion = pool.ask(gold, answer)
    verdict: Verdict = "incorrect"
    flags: tuple[str, ...] = ("math_verify",)
    if opinion.outcome == "same":
        verdict = "correct"
    elif opinion.outcome == "one_direction":  # the conservative reading: both directions must agree
        flags = (*flags, "directions_differ", "forward" if opinion.forward else "backward")
    elif opinion.outcome == "answer_unreadable":
        verdict = "unparsable_pred"
    elif opinion.outcome == "answer_gone":
        verdict = "timeout"
    elif opinion.outcome in ("gold_gone", "gold_unreadable"):
        verdict = "unparsable_gold"
    elif opinion.outcome == "unavailable":
        verdict = "error"
    return Judgement(verdict, flags)


def _as_words(gold: Gold, contract: AnswerContract, answer: str) -> Judgement:
    words = gold.words or ()
    said = _items(answer, contract.type)
    if contract.type == "set":
        return Judgement("correct" if set(words) == set(said) else "incorrect")
    if contract.type == "list":
        return Judgement("correct" if (words == said if contract.ordered else Counter(words) == Counter(said)) else "incorrect")
    if words == said or (words[0] in _NOWHERE and said[0] in _NOWHERE):
        return Judgement("correct")
    letter = _LETTER.match(words_of(gold.text))
    if letter:
        choice = choose(words_of(answer), ())
        return Judgement("correct" if choice.letter == letter.group(1) else "incorrect")
    return Judgement("incorrect")


def _as_quantity(gold: Gold, contract: AnswerContract, answer: str) -> Judgement | None:
    """An answer in words beside a number: ``18 eggs``, ``2 million``, ``eighteen``; None where it holds no one number."""
    quantity = parse_quantity(gold.text)
    if quantity is None or gold.number is None:
        return None
    verdict = compare(quantity, contract.unit, contract.tolerance, answer)
    if verdict == "unparsable_pred":
        return None
    return Judgement("incorrect", ("unit_mismatch",)) if verdict == "unit_mismatch" else Judgement(verdict)


def _against(text: str, contract: AnswerContract, answer: str) -> Judgement:
    """One gold (or alias) beside an answer."""
    gold = _gold(text, contract.type)
    if gold.plain is not None and not contract.tolerance:  # most answers
        value = _plain_value(answer)
        if value is not None:
            return _CORRECT if value == gold.plain else _INCORRECT
    if gold.words is not None:
        return _as_words(gold, contract, answer)
    bare = _bare(answer)
    if gold.node is None and _LOOK.sub("", bare) == _LOOK.sub("", gold.text):
        return Judgement("correct")
    node = _read(bare, thousands=_thousands(contract.type))
    prose = node is None or node[0] == "text" or (node[0] == "unit" and not NOT_PLAIN.isdisjoint(node[2].casefold().split()))
    if prose or node is None:
        return _unread(gold, contract, bare)
    rules = _rules(contract)
    same = same_by_type(gold.node, node, rules) if gold.node is not None else None
    flags = tuple(dict.fromkeys(rules.flags))
    if same is not None:
        return Judgement("correct" if same else "incorrect", flags)
    if gold.node is not None and not _is_small(gold.node):
        return Judgement("error", (*flags, "undecided"))  # nobody could compare with such a gold
    if gold.node is not None and not _is_small(node):
        return Judgement("incorrect", (*flags, "too_large"))
    if _may_ask(gold.text, bare):
        return _asked(gold.text, bare)
    return Judgement("incorrect", (*flags, "undecided"))


def _unread(gold: Gold, contract: AnswerContract, answer: str) -> Judgement:
    """An answer that is prose, or that our own reader does not know."""
    number = _as_quantity(gold, contract, answer)
    if number is not None:
        return number
    letter = _LETTER.match(gold.text)
    if letter and contract.type == "expression" and choose(words_of(answer), ()).letter == letter.group(1):
        return Judgement("correct")
    return _asked(gold.text, answer) if _may_ask(gold.text, answer) else Judgement("unparsable_pred")


def _is_small(node: Node) -> bool:
    """Whether nothing in a formula is so large that evaluating it takes for ever: powers, factorials and binomials of small numbers only."""
    if node[0] == "num":
        return bool(abs(node[1]) < 10**30)
    if node[0] in ("pow", "fact") or (node[0] == "fn" and node[1] == "binom"):
        for part in node[1 if node[0] == "fact" else 2 :]:
            value = rational(part) if isinstance(part, tuple) else None
            if isinstance(part, tuple) and part[0] in ("pow", "fact") and value is None:
                return False
            if value is not None and abs(value) > 1000:
                return False
    return all(_is_small(part) for part in node[1:] if isinstance(part, tuple) and part and isinstance(part[0], str))


def judge(contract: AnswerContract, answer: str) -> Judgement:
    """Grade an answer in mathematics. Exact and bounded; what that cannot decide is asked of math-verify in a process that can be killed.

    Args:
        contract: of one of ``TYPES``; its gold is sound (``gold_verdict``).
        answer: the extracted answer; the caller bounds its length.
    """
    first: Judgement | None = None
    for text in (contract.gold, *contract.aliases):
        judged = _against(text, contract, answer)
        if judged.verdict == "incorrect" and ("+-" in answer or "+-" in text):  # typed for both signs, or a sum with a negative term
            again = _against(text.replace("+-", "+ -"), contract, answer.replace("+-", "+ -"))
            judged = again if again.verdict == "correct" else judged
        if judged.verdict == "correct":
            return judged
        first = first or judged
    return first or _INCORRECT
