"""Contracts from what the records of a source say: a type where one is named, else the narrowest that reads the gold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import ValidationError

from schemas.contract import AnswerContract, AnswerType, FormatRule
from schemas.errors import wrong_fields
from udfs.grading.choices import same_option
from udfs.grading.dates import parse_date
from udfs.grading.numbers import parse_quantity
from udfs.sources.item import RecordError, first, text_of, texts_of, wanted

_TYPES = {name: name for name in get_args(AnswerType)} | {"math": "expression", "string": "text", "integer": "number", "float": "number"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"[-+\u2212]?[$\u20ac\u00a3]?\d[\d,]*(?:\.\d+)?\s?%?")
GOLD_FIELDS = ("answer", "gold", "final_answer", "expected_answer", "target", "answers")
OPTION_FIELDS = ("options", "choices")


def number_contract(text: str) -> AnswerContract | None:
    """The contract of a number with whatever unit stands beside it (``1,200``, ``$18``, ``5 dollars``); None where it is none.

    A whole number is spelt without separators; any other gold stays as it is written.
    """
    quantity = parse_quantity(text)
    if quantity is None:
        return None
    gold = str(quantity.value.numerator) if quantity.value.denominator == 1 else text.strip()
    return AnswerContract(type="number", gold=gold, unit=quantity.unit or None)


def options_of(record: Mapping[str, Any], *names: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Options and their labels (``A``, ``B`` ... where the record has none) of a multiple choice; both empty where it is none.

    Known spellings: a list of texts; ``{"text": [...], "label": [...]}``; a mapping of label to text; fields ``A`` to ``D`` (or further).

    Raises:
        RecordError: the field is nothing of the kind, or there are fewer than 2 options or more than 26.
    """
    name = next((name for name in names if record.get(name) not in (None, [], {}, "")), None)
    value = record[name] if name is not None else {letter: record[letter] for letter in _letters(record)}
    if not value:
        return (), ()
    labels: tuple[str, ...] = ()
    if isinstance(value, Mapping):
        if "text" in value:
            labels = texts_of(value["label"], f"{name}.label") if "label" in value else ()
            value = value["text"]
        else:
            labels, value = tuple(map(str, value)), list(value.values())
    options = texts_of(value, name or "A, B, ...")
    if not 2 <= len(options) <= 26 or (labels and len(labels) != len(options)):
        raise RecordError(
            "bad_value", f"field {name or 'A'!r} holds {len(options)} options with {len(labels)} labels; 2 to 26 can be asked"
        )
    return options, labels or tuple(chr(65 + at) for at in range(len(options)))


def _letters(record: Mapping[str, Any]) -> list[str]:
    found = [chr(65 + at) for at in range(26) if record.get(chr(65 + at)) is not None]
    return found if found == [chr(65 + at) for at in range(len(found))] else []


def letter_of(gold: Any, options: tuple[str, ...], labels: tuple[str, ...]) -> str:
    """The letter of the right option, from its place (from 0), its label, its letter or its text.

    Raises:
        RecordError: it names none of them, or several.
    """
    at: int | None = None
    if isinstance(gold, int) and not isinstance(gold, bool):
        at = gold
    else:
        said = text_of(gold, "answer").strip()
        named = [place for place, label in enumerate(labels) if label.casefold() == said.casefold()]
        same = [place for place, option in enumerate(options) if same_option(option, said)]
        found = named or same
        if len(found) == 1:
            at = found[0]
        elif not found and said.isascii() and said.isdecimal():
            at = int(said)
    if at is None or not 0 <= at < len(options):
        raise RecordError("bad_value", f"the answer {str(gold)[:80]!r} names none of {len(options)} options, or several")
    return chr(65 + at)


def contract_from(record: Mapping[str, Any]) -> tuple[str, AnswerContract]:
    """The gold as it is spelt, and its contract, from a record with named fields.

    ``answer`` (or ``gold``, ``final_answer``, ``expected_answer``, ``target``; a list of ``answers`` gives gold and aliases), and where
    given ``answer_type``, ``unit``, ``tolerance``, ``aliases``, ``options``, ``ordered``, ``format``.

    Raises:
        RecordError: the gold is missing, or the fields make no contract.
    """
    name, value = first(record, *GOLD_FIELDS)
    options, labels = options_of(record, *OPTION_FIELDS)
    if options:
        letter = letter_of(value, options, labels)
        return letter, made({"type": "choice", "gold": letter, "options": options})
    several = texts_of(value, name) if isinstance(value, (list, tuple)) else (text_of(value, name),)
    if not several or not several[0].strip():
        raise RecordError("no_text", f"field {name!r} is empty")
    gold, aliases = several[0].strip(), [*several[1:], *texts_of(record.get("aliases") or (), "aliases")]
    said = wanted(record, "answer_type", "verifier").casefold()
    if said and said not in _TYPES:
        raise RecordError("bad_value", f"answer_type {said[:40]!r} is none of {', '.join(sorted(_TYPES))}")
    kind = _TYPES[said] if said else _narrowest(gold)
    fields: dict[str, Any] = {"type": kind, "gold": gold, "aliases": [a for a in dict.fromkeys(aliases) if a.strip() and a != gold]}
    if kind in ("number", "date", "choice"):
        fields.pop("aliases")
    fields |= {field: record[field] for field in ("unit", "tolerance", "ordered", "format") if record.get(field) is not None}
    if kind == "number" and "unit" not in fields and (plain := number_contract(gold)) is not None:
        fields |= {"gold": plain.gold, "unit": plain.unit}
    return gold, made(fields)


def made(fields: dict[str, Any]) -> AnswerContract:
    """A contract from its fields.

    Raises:
        RecordError: they make none.
    """
    try:
        return AnswerContract.model_validate(fields)
    except ValidationError as error:
        raise RecordError("bad_value", f"no answer contract: {wrong_fields(error, 'contract')}"[:300]) from error


def _narrowest(gold: str) -> str:
    if _DATE.fullmatch(gold) and parse_date(gold) is not None:
        return "date"
    return "number" if _NUMBER.fullmatch(gold) else "text"


#: Rules that a format task may name.
FORMAT_RULES: tuple[str, ...] = get_args(FormatRule)
