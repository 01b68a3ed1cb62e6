"""Which part of a response is its answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from udfs.grading.boxes import last_boxes

#: A response without any marker is taken as the answer itself up to this many code points (or twice the gold, if that is more).
SHORT_RESPONSE = 200
#: Longest answer that is compared at all (or twice the gold): bounds every later step, however hostile the response.
MAX_ANSWER = 512
#: Longest JSON text that is parsed.
MAX_JSON = 16_384

# A marker is looked for by its word, then its surroundings are checked; every quantifier is bounded: linear in the response.
_WORD = re.compile(r"[Aa](?:nswer|NSWER)")
_COLON = re.compile(r"(?:[ \t]{1,4}is)?[ \t*]{0,8}[:=\uff1a]\*{0,2}")
_LEAD = re.compile(r"(?:\n|[.!?;)][ \t])[ \t>#*_\-]{0,16}(?:(?:so|the|my|final|correct)[ \t]{1,4}){0,3}\Z", re.IGNORECASE)
_LEAD_LENGTH = 64
# The conventions of GSM8K: "#### 18" in its references, "A: 18" in the published model solutions.
_SHORT_MARK = re.compile(r"^[ \t>*_\-]{0,16}(?:A[ \t*]{0,8}:|####)\*{0,2}", re.MULTILINE)
_THINK_END = "</think>"
_FENCE = re.compile(r"\A```[A-Za-z]{0,16}\s{1,8}(.*?)\s{0,8}```\Z", re.DOTALL)
_AFTER = "` \t\r\n*_"
_AFTER_BOX = "` \t\r\n*_$.)]}\\"
_LEAD_IN = re.compile(
    r"\A(?:so\s+)?(?:(?:the\s+)?(?:(?:final|correct|right)\s+)?answer\s+is\s*:?|it\s+(?:is|was)|it'?s)\s+(?=\S)", re.IGNORECASE
)
_AROUND = (("**", "**"), ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb"), ("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"))
_CLOSES = frozenset(right[-1] for _, right in _AROUND)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The answer part of a response; ``text`` is None where there is none."""

    text: str | None
    flags: tuple[str, ...] = ()


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key given twice stays visible."""


def parse_object(text: str) -> list[tuple[str, Any]] | None:
    """The pairs of a JSON object, numbers kept as written; None where the text is no object (or too long, or too deep).

    Args:
        text: at most ``MAX_JSON`` code points are tried.
    """
    if len(text) > MAX_JSON:
        return None
    try:
        value = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, _Pairs) else None


def scalar(value: Any) -> str | None:
    """A JSON scalar as text; None for null, objects and arrays."""
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, float):  # NaN and the infinities: everything else was kept as written
        return None
    return value if isinstance(value, str) else None


def bare_answer(text: str) -> str:
    """An answer without the sentence and the marks around it: ``The answer is **7**.`` is 7.

    Left out are a lead (the answer is, it is, it was), a code fence, bold type, typographic quotation marks and the delimiters of a
    formula, each where it stands around all of the rest.

    Args:
        text: an extracted answer; the caller bounds its length.
    """
    text = text.strip()
    fenced = _FENCE.match(text) if text.startswith("```") else None
    if fenced and "```" not in fenced.group(1):
        text = fenced.group(1).strip()
    text = _LEAD_IN.sub("", text)
    for _ in range(3):
        inner = text.removesuffix(".")
        if inner[-1:] not in _CLOSES:
            break
        for left, right in _AROUND:
            core = inner[len(left) : len(inner) - len(right)]
            if inner.startswith(left) and inner.endswith(right) and core.strip() and left not in core and right not in core:
                text = core.strip()
                break
        else:
            break
    return text


def _from_json(response: str) -> Extraction | None:
    start, end = response.rfind("{"), response.rfind("}")
    if start < 0 or end < start or '"answer"' not in response:
        return None
    fenced = _FENCE.match(response) if len(response) <= MAX_JSON else None
    pairs = parse_object(fenced.group(1) if fenced else response) or parse_object(response[start : end + 1])
    values = [scalar(v) for k, v in pairs or () if k == "answer"]
    if not values:
        return None
    flags = ["multiple_answers"] if len(set(values)) > 1 else []
    if response[end + 1 :].strip(_AFTER):
        flags.append("answer_not_last")
    return Extraction(values[-1], tuple(flags))


def _bare(line: str) -> str:
    """A line without white space and without the emphasis that a bold ``**Answer: ...**`` leaves open at its end."""
    line = line.strip()
    return line[:-2].rstrip() if line.endswith("**") and line.count("**") % 2 else line


def _payload(response: str, start: int) -> tuple[str, int]:
    """The rest of the line from ``start``, or the next line that is not blank; and where it ends."""
    end = response.find("\n", start)
    end = len(response) if end < 0 else end
    line = _bare(response[start:end])
    if line or end == len(response):
        return line, end
    rest = response[end:]
    begin = end + len(rest) - len(rest.lstrip())
    end = response.find("\n", begin)
    end = len(response) if end < 0 else end
    return _bare(response[begin:end]), end


def _from_marks(response: str, marks: list[tuple[int, int]]) -> Extraction:
    text, end = _payload(response, marks[-1][1])
    flags: list[str] = []
    bare = text.strip(" .`*_").casefold()
    for (_, begin), (until, _) in pairwise(marks):
        line_end = response.find("\n", begin, until)
        other = response[begin : line_end if line_end >= 0 else until].strip(" .`*_\t\r\n").casefold()
        if other and other != bare:
            flags.append("multiple_answers")
            break
    if response[end:].strip(_AFTER):
        flags.append("answer_not_last")
    if text.startswith("{"):
        inner = _from_json(text)
        if inner is not None:
            return Extraction(inner.text, (*flags, *(f for f in inner.flags if f not in flags)))
    return Extraction(text or None, tuple(flags))


def _from_boxes(body: str, after: int) -> Extraction | None:
    """The last box, where it ends after ``after``."""
    boxes = last_boxes(body)
    if boxes is None or boxes.end <= after:
        return None
    flags = ["multiple_answers"] if boxes.others else []
    if body[boxes.end :].strip(_AFTER_BOX):
        flags.append("answer_not_last")
    return Extraction(", ".join(content.strip() for content in boxes.contents).strip() or None, tuple(flags))


def _find_marks(body: str) -> list[tuple[int, int]]:
    """Spans of the ``Answer:`` markers: at the start of a line or after the end of a sentence."""
    marks = []
    for word in _WORD.finditer(body):
        start = word.start()
        colon = _COLON.match(body, word.end())
        if colon is None:
            continue
        lead = max(0, start - _LEAD_LENGTH)
        if start == 0 or body[start - 1] == "\n" or _LEAD.search(body[lead:start] if lead else "\n" + body[:start]):
            marks.append((start, colon.end()))
    return marks


def _last_of(body: str, marks: list[tuple[int, int]]) -> Extraction | None:
    """The marked line or the box, whichever comes last."""
    boxed = _from_boxes(body, marks[-1][0] if marks else 0) if "\\boxed" in body else None
    return boxed or (_from_marks(body, marks) if marks else None)


def extract_answer(response: str, *, short_marks: bool = True, gold_length: int = 0) -> Extraction:
    r"""The last ``Answer: ...`` line or ``\boxed{...}``, else a JSON object's ``answer``, else the whole response where it is short.

    Args:
        response: the candidate's text; what stands before a closing ``</think>`` is left out.
        short_marks: also take ``A: ...`` and ``#### ...`` lines (not for a choice, where ``A:`` names an option).
        gold_length: code points of the gold; longer golds may have longer answers.

    Returns:
        The answer and flags: ``multiple_answers`` (unequal ones; the last counts), ``answer_not_last`` (text follows it),
        ``overlong`` (too long to be an answer; the text is then None).
    """
    cut = response.rfind(_THINK_END)
    body = response[cut + len(_THINK_END) :] if cut >= 0 else response
    marks = _find_marks(body)
    stripped = body.strip()
    found = _last_of(body, marks) if marks else _from_json(stripped)
    if found is None:
        short = [m.span() for m in _SHORT_MARK.finditer(body)] if short_marks and ("A" in body or "#" in body) else []
        found = _last_of(body, short)
    elif found.text is not None and "\\boxed" in found.text:  # a box within the marked line or the JSON value
        found = _from_boxes(found.text, 0) or found
    if found is None:
        limit = max(SHORT_RESPONSE, 2 * gold_length)
        return Extraction(None, ("overlong",)) if len(stripped) > limit else Extraction(stripped or None)
    if found.text is not None and len(found.text) > max(MAX_ANSWER, 2 * gold_length):
        return Extraction(None, (*found.flags, "overlong"))
    return found
