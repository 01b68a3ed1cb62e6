"""Questions from the shape of documentation pages: defaults, base classes, constants, names by their description."""

from __future__ import annotations

import re
from collections.abc import Iterator

from udfs.extract.candidate import BLANK, Candidate, dotted_pattern_id, number_contract, one_line, pattern_id, text_contract
from udfs.extract.leak import leaks
from udfs.extract.outline import Definition, Outline
from udfs.extract.segment import Block, sentences_of
from udfs.extract.signature import Signature
from udfs.extract.wording import COMMON_DEFAULTS, words_regex

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,10})?")
_STRING = re.compile(r"[bru]{0,2}(['\"])(?P<body>[^'\"\\\n]{1,40})\1")
_NAME = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)*")
_BASES = re.compile(r"Bases: (?P<bases>[A-Za-z][\w.]*)[ \t]*(?=\n|$)")
_CONSTANT = re.compile(r"(?P<name>[A-Za-z]\w*(?:\.[A-Za-z]\w*)+) = (?P<value>[^\n]{1,80})")
_GENERIC_NAMES = words_regex(
    "run main get set close open read write update add remove copy clear start stop reset next append pop insert items keys values init load dump setup "
    "format parse send receive call handle apply process execute name value test"
)


def _literal(text: str, start: int, end: int) -> tuple[str, tuple[int, int]] | None:
    """(kind of literal, offsets of the answer) of a value that can be graded; None for anything else."""
    value = text[start:end]
    if value in ("None", "True", "False"):
        return "singleton", (start, end)
    if _NUMBER.fullmatch(value):
        return "number", (start, end)
    if (match := _STRING.fullmatch(value)) and any(char.isalnum() for char in match["body"]):
        return "string", (start, end)
    if _NAME.fullmatch(value):
        return "name", (start, end)
    return None


def _alias_texts(kind: str, value: str) -> tuple[str, ...]:
    if kind == "string":
        body = value.strip("bru")[1:-1] if value[0] in "bru" else value[1:-1]
        return (body, f"'{body}'", f'"{body}"')
    return (value.rpartition(".")[2],) if kind == "name" else ()


def _kind_word(signature: Signature) -> str:
    return "class" if signature.is_class else "function"


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
                distractors=tuple(other for other in values if other != value),
                reason=_default_reason(kind, value, question),
                rank=int(value in COMMON_DEFAULTS) + 2 * int(value == "None"),
            )


def _default_reason(kind: str, value: str, question: str) -> str | None:
    if kind == "other":
        return "default_not_simple"
    if value.startswith("_") or "._" in value:
        return "private_name"
    return "leak" if leaks(value, question) else None


def base_classes(doc: Outline) -> Iterator[Candidate]:
    """The base of a class that has one; the answer is the base's own name, without its module."""
    text = doc.text
    for definition in doc.definitions:
        signature = definition.signature
        match = _BASES.search(text, signature.end, definition.block.end)
        if match is None or not signature.is_class:
            continue
        base = match["bases"]
        last = base.rpartition(".")[2]
        place = (match.end("bases") - len(last), match.end("bases"))
        question = f"Which class is the direct base class of `{signature.name}`?"
        reason = "private_name" if last.startswith("_") else "trivial" if last == "object" else "leak" if leaks(last, question) else None
        others = tuple(
            dict.fromkeys(name for name in re.findall(r"\b(?:[A-Z][a-z]+){2,5}\b", text[:20000]) if name not in (last, signature.last))
        )
        yield Candidate(
            kind="base_class",
            subject=signature.name,
            question=question,
            answer=place,
            evidence=(signature.start, match.end()),
            contract=text_contract(last, base),
            pattern=dotted_pattern_id("base_class", signature.name),
            distractors=others,
            reason=reason,
        )


def constants(doc: Outline) -> Iterator[Candidate]:
    """The value of a constant that a page lists as ``module.NAME = literal``."""
    text = doc.text
    for passage in doc.passages:
        for line in passage.block.lines:
            match = _CONSTANT.fullmatch(text, line.start, line.end)
            if match is None or doc.title is None or not match["name"].startswith(doc.title + "."):
                continue
            place = match.span("value")
            literal = _literal(text, *place)
            if literal is None or literal[0] in ("name", "singleton"):
                continue
            value = match["value"]
            question = f"What is the value of `{match['name']}`?"
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


def _body(doc: Outline, definition: Definition) -> Block | None:
    """The first block of prose that explains a definition."""
    if definition.body is not None:
        return definition.body
    return next((item.block for item in doc.passages if item.block.start >= definition.block.end and _is_prose(doc.text, item.block)), None)


def _is_prose(text: str, block: Block) -> bool:
    return not block.bullet and text[block.start].isupper() and not text.startswith(("Parameters:", "See also:", "Bases:"), block.start)


def described_names(doc: Outline) -> Iterator[Candidate]:
    """What is described by this sentence? The name itself must not be given away, nor be one that anything could bear."""
    text = doc.text
    for definition in doc.definitions:
        signature = definition.signature
        body = _body(doc, definition)
        if not signature.owner or body is None:
            continue
        first = next(sentences_of(text, body), None)
        if first is None or first[0] != body.start:
            continue
        place = (signature.name_start + len(signature.name) - len(signature.last), signature.name_start + len(signature.name))
        description = one_line(text[first[0] : first[1]])
        special = signature.last.startswith("__") and signature.last.endswith("__")
        what = "special method" if special else "class" if signature.is_class else "function or method"
        question = f"Which {what} of `{signature.owner}` is documented as follows? “{description}”"
        yield Candidate(
            kind="special_method" if special else "docstring_name",
            subject=signature.owner,
            question=question,
            answer=place,
            evidence=(signature.start, first[1]),
            contract=text_contract(signature.last, signature.name, f"{signature.last}()", f"{signature.name}()"),
            pattern=pattern_id("docstring_name", description),
            distractors=_siblings(doc, signature),
            reason=_description_reason(description, question, signature, shared=definition.shared),
        )


def _siblings(doc: Outline, signature: Signature) -> tuple[str, ...]:
    """Last parts of the other dotted names of the same owner that the page mentions."""
    mentioned = re.findall(re.escape(signature.owner) + r"\.([A-Za-z_]\w*)(?![\w.])", doc.text[:50000])
    return tuple(sorted({name for name in mentioned if name != signature.last}))


def _description_reason(description: str, question: str, signature: Signature, *, shared: bool) -> str | None:
    words = description.split()
    if shared:
        return "shared_description"
    if not 5 <= len(words) <= 30:
        return "length"
    if signature.last.startswith("_") and not signature.last.endswith("__"):
        return "private_name"
    if _GENERIC_NAMES.fullmatch(signature.last):
        return "generic_name"
    if BLANK in description or "override" in description.lower() or "deprecated" in description.lower():
        return "not_a_description"
    return "leak" if leaks(signature.last, question) else None
