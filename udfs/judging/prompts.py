"""What a judge is shown: the request, a reference where it may see one, and responses between fences that they cannot close."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from udfs.prompts.passages import quote
from udfs.prompts.templates import Template, load

#: Template of each kind of judgement.
TEMPLATES: dict[str, str] = {"pairwise": "judge_pairwise", "pointwise": "judge_pointwise"}
#: Longest response shown, in code points; of a longer one the middle is left out, and the judgement says so.
MAX_SHOWN = 24_000
_LEFT_OUT = "\n[... {} code points left out ...]\n"

_EXPLANATION = {"type": "string", "maxLength": 2000}
#: What a reply must follow where the engine can be made to; the reasons come first, so that the verdict follows from them.
SCHEMAS: dict[str, dict[str, Any]] = {
    "pairwise": {
        "type": "object",
        "properties": {"explanation": _EXPLANATION, "verdict": {"enum": ["1", "2", "tie"]}},
        "required": ["explanation", "verdict"],
        "additionalProperties": False,
    },
    "pointwise": {
        "type": "object",
        "properties": {"explanation": _EXPLANATION, "score": {"type": "integer", "minimum": 0, "maximum": 10}},
        "required": ["explanation", "score"],
        "additionalProperties": False,
    },
}


def template_of(kind: str) -> Template:
    """The template of a kind of judgement.

    Raises:
        KeyError: no such kind.
        TemplateError: the file is missing or broken.
    """
    return load(TEMPLATES[kind])


def judge_messages(item: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """The chat that asks for one judgement.

    Args:
        item: row of ``schemas.handoff.JUDGE_SHARD``; ``swapped`` shows b before a.

    Raises:
        ValueError: a pair without its second response, or a kind that is none.
        TemplateError: the template is broken.
    """
    kind = item["kind"]
    if kind not in TEMPLATES:
        raise ValueError(f"kind {kind!r}: pairwise or pointwise")
    shown = [item["response_a"], item["response_b"]] if kind == "pairwise" else [item["response_a"]]
    if any(response is None for response in shown):
        raise ValueError("a pair needs two responses")
    if item["swapped"]:
        shown.reverse()
    template = template_of(kind)
    reference = item["reference"]
    values = {
        "question": quote(item["question"]),
        "reference": "" if reference is None else f"A reference answer, which is right:\n\n{quote(reference)}",
        "first": quote(shorten(shown[0])),
    } | ({"second": quote(shorten(shown[1]))} if kind == "pairwise" else {})
    return ({"role": "system", "content": template.system.strip()}, {"role": "user", "content": template.fill(values).strip()})


def shorten(response: str) -> str:
    """A response as it is shown: whole, or with its middle left out."""
    if len(response) <= MAX_SHOWN:
        return response
    half = MAX_SHOWN // 2
    return response[:half] + _LEFT_OUT.format(len(response) - 2 * half) + response[-half:]


def shortened(item: Mapping[str, Any]) -> list[str]:
    """Which responses of an item are shown in part: a, b."""
    return [name for name in ("a", "b") if len(item[f"response_{name}"] or "") > MAX_SHOWN]
