"""Questions about names: the base of a class, the name of what a sentence describes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice

from udfs.extract.candidate import BLANK, MAX_DISTRACTORS, Candidate, dotted_pattern_id, one_line, pattern_id, text_contract
from udfs.extract.leak import leaks
from udfs.extract.outline import Definition, Outline
from udfs.extract.segment import Block, sentences_of
from udfs.extract.signature import Signature
from udfs.extract.wording import words_regex

_BASES = re.compile(r"[^\n]{0,200}\n[ \t]*Bases: (?P<bases>[A-Za-z][\w.]{0,200})[ \t]*(?=\n|$)")
_CLASS_NAME = re.compile(r"\b(?:[A-Z][a-z]+){2,5}\b")
_DOTTED = re.compile(r"(?<![\w.])(?:[A-Za-z_]\w{0,80}\.){1,9}[A-Za-z_]\w{0,80}(?![\w.])")
#: Code points of a page that are searched for names that could be wrong answers.
MAX_MENTIONS = 50_000
#: Passages behind a definition among which its explanation is looked for.
_NEAR = 8
_GENERIC_NAMES = words_regex(
    "run main get set close open read write update add remove copy clear start stop reset next append pop insert items keys values init load dump setup "
    "format parse send receive call handle apply process execute name value test"
)


def base_classes(doc: Outline) -> Iterator[Candidate]:
    """The base of a class that has one; the answer is the base's own name, without its module."""
    text = doc.text
    mentioned = list(dict.fromkeys(_CLASS_NAME.findall(text[:MAX_MENTIONS]))) if doc.definitions else []
    for definition in doc.definitions:
        signature = definition.signature
        match = _BASES.match(text, signature.end)
        if match is None or not signature.is_class:
            continue
        base = match["bases"]
        last = base.rpartition(".")[2]
        place = (match.end("bases") - len(last), match.end("bases"))
        question = f"Which class is the direct base class of `{signature.name}`?"
        reason = "private_name" if last.startswith("_") else "trivial" if last == "object" else "leak" if leaks(last, question) else None
        others = islice((name for name in mentioned if name not in (last, signature.last)), MAX_DISTRACTORS)
        yield Candidate(
            kind="base_class",
            subject=signature.name,
            question=question,
            answer=place,
            evidence=(signature.start, match.end()),
            contract=text_contract(last, base),
            pattern=dotted_pattern_id("base_class", signature.name),
            distractors=tuple(others),
            reason=reason,
        )


def _body(doc: Outline, definition: Definition, starts: list[int]) -> Block | None:
    """The first block of prose that explains a definition; ``starts`` are those of the passages."""
    if definition.body is not None:
        return definition.body
    first = bisect_left(starts, definition.block.end)
    return next((item.block for item in doc.passages[first : first + _NEAR] if _is_prose(doc.text, item.block)), None)


def _is_prose(text: str, block: Block) -> bool:
    return not block.bullet and text[block.start].isupper() and not text.startswith(("Parameters:", "See also:", "Bases:"), block.start)


def described_names(doc: Outline) -> Iterator[Candidate]:
    """What is described by this sentence? The name itself must not be given away, nor be one that anything could bear."""
    text = doc.text
    siblings = _siblings(doc)
    starts = [passage.block.start for passage in doc.passages]
    for definition in doc.definitions:
        signature = definition.signature
        body = _body(doc, definition, starts)
        if not signature.owner or body is None:
            continue
        first = next(sentences_of(text, body), None)
        if first is None or first[0] != body.start:
            continue
        place = (signature.name_start + len(signature.name) - len(signature.last), signature.name_start + len(signature.name))
        description = one_line(text[first[0] : first[1]])
        special = signature.last.startswith("__") and signature.last.endswith("__")
        what = (
            "special method" if special else "class" if signature.is_class else "method" if _in_class(signature) else "function or method"
        )
        question = f"Which {what} of `{signature.owner}` is documented as follows? “{description}”"
        yield Candidate(
            kind="special_method" if special else "docstring_name",
            subject=signature.owner,
            question=question,
            answer=place,
            evidence=(signature.start, first[1]),
            contract=text_contract(signature.last, signature.name, f"{signature.last}()", f"{signature.name}()"),
            pattern=pattern_id("docstring_name", description),
            distractors=tuple(islice((name for name in siblings.get(signature.owner, ()) if name != signature.last), MAX_DISTRACTORS)),
            reason=_description_reason(description, question, signature, shared=definition.shared),
        )


def _in_class(signature: Signature) -> bool:
    """Whether the owner is written like a class."""
    return signature.owner.rpartition(".")[2][:1].isupper()


def _siblings(doc: Outline) -> dict[str, list[str]]:
    """Owner -> last parts of the dotted names of that owner that the page mentions, sorted."""
    if not doc.definitions:
        return {}
    found: dict[str, set[str]] = {}
    for name in _DOTTED.findall(doc.text[:MAX_MENTIONS]):
        owner, _, last = name.rpartition(".")
        found.setdefault(owner, set()).add(last)
    return {owner: sorted(names) for owner, names in found.items()}


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
