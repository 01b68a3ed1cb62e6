"""What the stages' replies must look like, and what they say. Beside validated strings nothing but booleans and names of a list flows on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from schemas.conf_convert import OTHER
from udfs.conversion.escapes import has_controls, restored
from udfs.conversion.fewshots import FIELDS
from udfs.conversion.recipe import Recipe
from udfs.extract.candidate import one_line
from udfs.replies.strict import read_object

GeneratedType = Literal["number", "date", "text", "list", "unordered_list", "expression"]
TYPES: tuple[str, ...] = get_args(GeneratedType)

#: Bounds of strings in replies, in code points, and of lists.
MAX_REASONS = 1000
MAX_PERSONA = 200
MAX_QUESTION = 1000
MAX_ANSWER = 300
MAX_QUOTE = 2000
MAX_QUOTES = 3
MAX_ALIAS = 160
MAX_ALIASES = 6
MAX_UNIT = 60
MAX_COMPUTATION = 200

#: Booleans of the two stages that judge; a text or a candidate passes where all are as here. The first that is not names the reason.
FILTER_VERDICTS = {"informative": True, "self_contained": True, "extractable": True}
CHECK_VERDICTS = {"grounded": True, "answer_leaks": False, "self_contained": True}
_REASONS = {
    "informative": "not_informative",
    "self_contained": "not_self_contained",
    "extractable": "not_extractable",
    "grounded": "not_grounded",
    "answer_leaks": "answer_leaks",
}


@dataclass(frozen=True, slots=True)
class Identified:
    """Domain and readers of a document; no reader where the reply names none."""

    domain: str
    personas: tuple[str, ...]


class Generated(NamedTuple):
    """A question as it was generated.

    ``declined`` says that the generator found none to ask. ``aliases`` are without repetitions; ``computation`` is None where the answer is
    quoted.
    """

    evidence: tuple[str, ...]
    question: str
    answer: str
    answer_type: GeneratedType
    unit: str | None
    aliases: tuple[str, ...]
    computation: str | None

    @property
    def declined(self) -> bool:
        """Whether question or answer was left empty."""
        return not self.question or not self.answer


def _text(most: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _verdicts(names: dict[str, bool]) -> dict[str, Any]:
    # The reasons come first, so that the verdict follows from them.
    return _object({"reasons": _text(MAX_REASONS)} | {name: {"type": "boolean"} for name in names})


def schemas_of(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """JSON schema of each stage's reply, for engines that can be made to follow one; reading does not depend on it."""
    return {
        "filter": _verdicts(FILTER_VERDICTS),
        "identify": _object(
            {
                "domain": {"enum": list(recipe.domains)},
                "personas": {"type": "array", "items": _text(MAX_PERSONA), "maxItems": recipe.max_personas},
            }
        ),
        "generate": _object(
            {
                "evidence": {"type": "array", "items": _text(MAX_QUOTE), "maxItems": MAX_QUOTES},
                "question": _text(MAX_QUESTION),
                "answer": _text(MAX_ANSWER),
                "answer_type": {"enum": list(TYPES)},
                "unit": _or_null(_text(MAX_UNIT)),
                "aliases": {"type": "array", "items": _text(MAX_ALIAS), "maxItems": MAX_ALIASES},
                "computation": _or_null(_text(MAX_COMPUTATION)),
            }
        ),
        "check": _verdicts(CHECK_VERDICTS),
    }


def read_verdicts(reply: str, wanted: dict[str, bool]) -> str | None:
    """What a reply of booleans comes to: ``passed``, or the reason of the first one that is not as wanted; None where it is none.

    Args:
        reply: the whole text.
        wanted: ``FILTER_VERDICTS`` or ``CHECK_VERDICTS``.
    """
    found = read_object(reply)
    if found is None or found.keys() != {"reasons", *wanted} or not isinstance(found["reasons"], str):
        return None
    if not all(isinstance(found[name], bool) for name in wanted):
        return None
    return next((_REASONS[name] for name, value in wanted.items() if found[name] is not value), "passed")


def read_identified(reply: str, recipe: Recipe) -> Identified | None:
    """Domain and readers; None where the reply is none.

    A domain that is not on the list is ``other``. Readers are taken in their order, each once, white space collapsed, at most as many as the
    recipe wants; empty ones are none. One that is too long or holds control characters makes the whole reply none.
    """
    found = read_object(reply)
    if found is None or found.keys() != {"domain", "personas"}:
        return None
    domain, personas = found["domain"], found["personas"]
    if not isinstance(domain, str) or not isinstance(personas, list):
        return None
    kept: dict[str, str] = {}
    for persona in personas:
        if not isinstance(persona, str) or len(persona) > MAX_PERSONA:
            return None
        line = one_line(persona)
        if has_controls(line):
            return None
        if line:
            kept.setdefault(line.casefold(), line)
    name = domain.strip().casefold()
    return Identified(name if name in recipe.domains else OTHER, tuple(kept.values())[: recipe.max_personas])


def read_generated(reply: str, passage: str) -> Generated | None:
    """Question and answer; None where the reply is none or a backslash of it was lost.

    Args:
        reply: the whole text.
        passage: what it is about: strings whose backslashes were not doubled are restored where it shows what was meant (``escapes``).
    """
    found = read_object(reply)
    if found is None or found.keys() != _FIELDS or not _is_typed(found):
        return None
    texts = (found["question"], found["answer"], *found["evidence"], *found["aliases"])
    meant = [restored(text, passage) for text in texts]
    unit, computation = found["unit"] or "", found["computation"] or ""
    if None in meant or has_controls(unit) or has_controls(computation):
        return None
    question, answer, *rest = (text for text in meant if text is not None)
    n_quotes = len(found["evidence"])
    answer = answer.strip()
    named = dict.fromkeys(map(one_line, rest[n_quotes:]))
    return Generated(
        tuple(rest[:n_quotes]),
        one_line(question),
        answer,
        found["answer_type"],
        unit.strip() or None,
        tuple(alias for alias in named if alias and alias != answer),
        computation.strip() or None,
    )


_FIELDS = frozenset(FIELDS)


_STRINGS = (
    ("question", MAX_QUESTION),
    ("answer", MAX_ANSWER),
    ("answer_type", MAX_ANSWER),
    ("unit", MAX_UNIT),
    ("computation", MAX_COMPUTATION),
)
_LISTS = (("evidence", MAX_QUOTES, MAX_QUOTE), ("aliases", MAX_ALIASES, MAX_ALIAS))


def _is_typed(found: dict[str, Any]) -> bool:
    """Whether every field of a generator's reply is of its type and within its bounds."""
    for name, most in _STRINGS:
        value = found[name]
        if not (isinstance(value, str) and len(value) <= most) and not (value is None and name in ("unit", "computation")):
            return False
    for name, most, longest in _LISTS:
        value = found[name]
        if not isinstance(value, list) or len(value) > most:
            return False
        for text in value:
            if not isinstance(text, str) or len(text) > longest:
                return False
    return found["answer_type"] in TYPES
