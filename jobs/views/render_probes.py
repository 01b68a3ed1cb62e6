"""The probes of a verdict, and the contrast of open and closed book, in lines that a person reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from jobs.views.contrast import Contrast, Rate

#: What a probe says where it is a text: nothing was found, or nothing could be compared.
_PLAIN = {
    "engine": "the engine's own filters",
    "evidence": "evidence span",
    "answer": "answer in its evidence",
    "contract": "contract tried on itself",
    "leak": "answer given away by its prompt",
    "collision": "other answers in the corpus",
    "question": "question asked before",
    "base_rate": "answer's share of its kind",
    "without_subject": "guessable without its subject",
    "siblings": "answered by a sibling",
}


def probe_lines(probes: str) -> list[str]:
    """One line a probe, in the order in which they were measured.

    Args:
        probes: canonical JSON of silver.qa_verdicts.
    """
    try:
        found = json.loads(probes)
    except ValueError:
        return [probes]
    if not isinstance(found, dict):
        return [probes]
    known = [name for name in _PLAIN if name in found]
    return [f"{_PLAIN.get(name, name)}: {_said(name, found[name])}" for name in (*known, *sorted(found.keys() - set(known)))]


def _said(name: str, value: Any) -> str:
    if not isinstance(value, dict):
        return str(value).replace("_", " ")
    told = _TOLD.get(name)
    try:
        return told(value) if told else _pairs(value)
    except (KeyError, TypeError):  # a probe of an older version of the rules
        return _pairs(value)


def _pairs(value: dict[str, Any]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {part}" for key, part in value.items())


def _contract(value: dict[str, Any]) -> str:
    if "tests" in value:
        return f"{value['tests']} tests; " + ("; ".join(value["problems"]) or "its reference passes, programs that know nothing do not")
    right, wrong = value["right"], value["near_misses"]
    refused, accepted = (
        value.get(count, int(value[first] is not None))
        for count, first in (("right_refused", "refused"), ("near_misses_accepted", "accepted"))
    )
    said = f"{right - refused} of {right} right answers accepted, {wrong - accepted} of {wrong} near misses refused"
    said += f"; refuses {value['refused']!r}" if refused else ""
    said += f"; accepts {value['accepted']!r}" if accepted else ""
    return said + (f"; repaired: {_pairs(value['repaired'])}" if "repaired" in value else "")


def _base_rate(value: dict[str, Any]) -> str:
    said = f"number {value['rank']} with this answer, {value['cap']} allowed among {value['items_of_kind']} of its kind"
    if "items_of_type" not in value:
        return said
    return f"{said}; {_share(value['same_answer'], value['items_of_type'])} of its answer type have it"


def _siblings(value: dict[str, Any]) -> str:
    parts = [f"{value['count']} state its answer, {value['answered_by']} first"] if "answered_by" in value else []
    return "; ".join((*parts, f"states the answer of {value['answers']}") if "answers" in value else parts)


def _share(k: int, n: int) -> str:
    return f"{k:,} of {n:,} ({k / n:.1%})" if n else "0 of 0"


_TOLD: dict[str, Callable[[dict[str, Any]], str]] = {
    "contract": _contract,
    "base_rate": _base_rate,
    "siblings": _siblings,
    "leak": lambda value: f"{value['word']!r} stands in the {value['where']}",
    "collision": lambda value: f"{value['answer']!r} in document {value['doc_id']}",
    "question": lambda value: f"{value['reason'].replace('_', ' ')}: {value['other']}",
    "without_subject": lambda value: f"{_share(value['same_answer'], value['same_wording'])} of those worded alike have its answer",
}


def contrast_line(contrast: Contrast) -> str:
    """Both rates with their intervals, the gap, and what it says."""
    gap = "" if contrast.gap is None else f", gap {contrast.gap:+.2f}"
    reading = f" ({contrast.reading})" if contrast.reading else ""
    return f"{contrast.policy_id}: open book {_rate(contrast.open_book)}, closed book {_rate(contrast.closed_book)}{gap}{reading}"


def _rate(rate: Rate) -> str:
    if rate.interval is None:
        return "not sampled"
    low, high = rate.interval
    return f"{rate.k} of {rate.n} ({low:.2f} to {high:.2f})"
