"""Questions about values: defaults of parameters, constants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from udfs.extract.candidate import MAX_DISTRACTORS, Candidate, dotted_pattern_id, number_contract, text_contract
from udfs.extract.leak import leaks
from udfs.extract.outline import Outline
from udfs.extract.signature import Signature
from udfs.extract.wording import COMMON_DEFAULTS

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,10})?")
_BASED = re.compile(r"0[xXoObB][0-9A-Fa-f_]{1,16}")
_STRING = re.compile(r"[bru]{0,2}(['\"])(?P<body>[^'\"\\\n]{1,40})\1")
_NAME = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)*")
_CONSTANT = re.compile(r"(?P<name>[A-Za-z]\w*(?:\.[A-Za-z]\w*)+) = (?P<value>[^\n]{1,80})")


def _literal(text: str, start: int, end: int) -> tuple[str, tuple[int, int]] | None:
    """(kind of literal, offsets of the answer) of a value that can be graded; None for anything else."""
    value = text[start:end]
    if value in ("None", "True", "False"):
        return "singleton", (start, end)
    if _NUMBER.fullmatch(value):
        return "number", (start, end)
    if _BASED.fullmatch(value):
        return "based", (start, end)
    if (match := _STRING.fullmatch(value)) and _telling(match["body"]):
        return "string", (start, end)
    if _NAME.fullmatch(value):
        return "name", (start, end)
    return None


def _telling(body: str) -> bool:
    """Whether a string is mostly letters and digits: graders compare words, not punctuation."""
    return sum(char.isalnum() for char in body) >= 0.6 * len(body)


def _alias_texts(kind: str, value: str) -> tuple[str, ...]:
    if kind == "string":
        body = value.strip("bru")[1:-1] if value[0] in "bru" else value[1:-1]
        return (body, f"'{body}'", f'"{body}"')
    if kind == "based":
        try:
            return (str(int(value, 0)),)
        except ValueError:
            return ()
    return (value.rpartition(".")[2],) if kind == "name" else ()


def _call(signature: Signature) -> str:
    return f"{signature.name}" if signature.is_class else f"{signature.name}()"


def param_defaults(doc: Outline) -> Iterator[Candidate]:
    """One question for every parameter that has a default, from the signature itself."""
    text = doc.text
    for definition in doc.definitions:
        signature = definition.signature
        found = [(item.name, item.default, _literal(text, *item.default)) for item in signature.parameters if item.default]
        values = list(dict.fromkeys(text[place[0] : place[1]] for _, place, _ in found))
        for name, place, literal in found:
            value = text[place[0] : place[1]]
            question = f"What is the default value of the parameter `{name}` of `{_call(signature)}`?"
            kind = literal[0] if literal else "other"
            contract = number_contract(value) if kind == "number" else text_contract(value, *_alias_texts(kind, value))
            yield Candidate(
                kind="param_default",
                subject=signature.name,
                question=question,
                answer=place,
                evidence=(signature.start, signature.end),
                contract=contract,
                pattern=dotted_pattern_id("param_default", signature.name, name),
                distractors=tuple(islice((other for other in values if other != value), MAX_DISTRACTORS)),
                reason=_default_reason(kind, value, question),
                rank=int(value in COMMON_DEFAULTS) + 2 * int(value == "None"),
            )


def _default_reason(kind: str, value: str, question: str) -> str | None:
    if kind == "other":
        return "default_not_simple"
    if value.startswith("_") or "._" in value:
        return "private_name"
    return "leak" if leaks(value, question) else None


def constants(doc: Outline) -> Iterator[Candidate]:
    """The value of a constant that a page lists as ``module.NAME = literal``."""
    text = doc.text
    if not doc.is_page or doc.title is None:
        return
    attribute = any(item.signature.is_class and item.signature.name == doc.title for item in doc.definitions)
    what = "initial value of the class attribute" if attribute else "value of the constant"
    for passage in doc.passages:
        for line in passage.block.lines:
            match = _CONSTANT.fullmatch(text, line.start, line.end)
            if match is None or not match["name"].startswith(doc.title + "."):
                continue
            place = match.span("value")
            literal = _literal(text, *place)
            if literal is None or literal[0] in ("name", "singleton"):
                continue
            value = match["value"]
            question = f"What is the {what} `{match['name']}`?"
            contract = number_contract(value) if literal[0] == "number" else text_contract(value, *_alias_texts(literal[0], value))
            yield Candidate(
                kind="constant_value",
                subject=match["name"],
                question=question,
                answer=place,
                evidence=match.span(),
                contract=contract,
                pattern=dotted_pattern_id("constant_value", match["name"]),
                reason="leak" if leaks(value, question) else None,
            )
