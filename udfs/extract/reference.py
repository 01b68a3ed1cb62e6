"""Questions from set phrases of reference manuals: in which version something changed, which exception is raised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from udfs.extract.candidate import BLANK, MAX_DISTRACTORS, Candidate, one_line, pattern_id, text_contract
from udfs.extract.leak import leaks
from udfs.extract.outline import Outline, Passage
from udfs.extract.segment import MAX_LOOK, sentences_of
from udfs.extract.wording import DEICTIC

_VERSION = r"(?P<version>\d{1,4}(?:\.\d{1,4}){1,3})"
_CHANGED = re.compile(
    r"(?:\.\. version(?P<directive>added|changed)::[ ]|(?P<word>Changed|New|Added|Deprecated) (?:in|since) version )"
    + _VERSION
    + r"(?P<stop>[:.]?)"
)
_EXCEPTION = re.compile(
    r"(?<![\w.`])(?P<name>(?:[A-Za-z_]\w*\.){0,3}[A-Z][A-Za-z0-9]*(?:Error|Exception|Interrupt|Exit|StopIteration|StopAsyncIteration))(?!\w)"
)
#: Code points of a document that are searched for versions and exceptions that could be wrong answers.
MAX_MENTIONS = 50_000
_RAISES = re.compile(r"\b[Rr]ais(?:es?|ed|ing)\b")
_CONDITION = re.compile(r"\b(?:if|when|unless|on|for)\b")
_CODE_MARKS = re.compile(r"[{}<>|\\=;~^#\[\]]|^[^A-Z\"“_`]|\w\('")


def _subject(passage: Passage) -> str | None:
    """The definition that a passage explains, else its topic."""
    if passage.definition is not None and passage.direct:
        return passage.definition.name
    return one_line(passage.topic) if passage.topic else None


def version_changes(doc: Outline) -> Iterator[Candidate]:
    """The version is the answer of `Changed in version X: ...` and `New in version X`."""
    text = doc.text
    if _CHANGED.search(text, 0, MAX_LOOK) is None:
        return
    versions = list(dict.fromkeys(match["version"] for match in _CHANGED.finditer(text[:MAX_MENTIONS])))
    for passage in doc.passages:
        block, subject = passage.block, _subject(passage)
        match = _CHANGED.match(text, block.start, block.end)
        if match is None or subject is None:
            continue
        word = match["directive"] or match["word"].lower()
        added = word in ("new", "added")
        description = "" if match["stop"] == "." else one_line(text[match.end() : block.end])
        end = match.end() if not description else block.end
        if description and len(description) > 240:
            cut = next((stop for _, stop in sentences_of(text, block)), block.end)
            description, end = one_line(text[match.end() : cut]), cut
        verb = "deprecated" if word == "deprecated" else "added" if added else "changed"
        question = (
            f"`{subject}`: in which version was this {'introduced' if added else verb}? “{description}”"
            if description
            else f"In which version was `{subject}` {verb}?"
        )
        yield Candidate(
            kind="version_changed",
            subject=subject,
            question=question,
            answer=match.span("version"),
            evidence=(block.start, end),
            contract=text_contract(match["version"], f"version {match['version']}"),
            pattern=pattern_id("version_changed", subject if not description else "", verb, description),
            distractors=tuple(islice((version for version in versions if version != match["version"]), MAX_DISTRACTORS)),
            reason=_version_reason(passage, description, question, match["version"], verb),
        )


def _version_reason(passage: Passage, description: str, question: str, version: str, verb: str) -> str | None:
    if not description and not (passage.definition and passage.direct):
        return "no_subject"
    if not description and verb == "changed":
        return "no_description"
    if description and not 4 <= len(description.split()) <= 45:
        return "length"
    if re.search(r"\b(?:Previously|version|earlier|also)\b", description) and re.search(r"\d\.\d", description):
        return "other_version"
    return "leak" if leaks(version, question) else None


def exceptions_raised(doc: Outline) -> Iterator[Candidate]:
    """The exception is blanked in a sentence that says on which condition it is raised."""
    text = doc.text
    if _RAISES.search(text, 0, MAX_LOOK) is None:
        return
    mentioned = sorted({match["name"].rpartition(".")[2] for match in _EXCEPTION.finditer(text[:MAX_MENTIONS])})
    for passage in doc.passages:
        subject = _subject(passage)
        if subject is None:
            continue
        for start, end in sentences_of(text, passage.block):
            sentence = text[start:end]
            if not _RAISES.search(sentence):
                continue
            names = list(_EXCEPTION.finditer(text, start, end))
            if not names:
                continue
            name = names[0]["name"]
            last = name.rpartition(".")[2]
            place = (names[0].end("name") - len(last), names[0].end("name"))
            stem = re.sub(
                r"\b([Aa])n? (?=[\"“`]*____)", r"\1(n) ", one_line(text[start : names[0].start()] + BLANK + text[names[0].end() : end])
            )
            question = f"`{subject}`: which exception fills the blank? “{stem}”"
            yield Candidate(
                kind="exception_raised",
                subject=subject,
                question=question,
                answer=place,
                evidence=(start, end),
                contract=text_contract(last, name),
                pattern=pattern_id("exception_raised", subject, stem),
                distractors=tuple(islice((other for other in mentioned if other != last), MAX_DISTRACTORS)),
                reason=_exception_reason(passage, sentence, stem, question, last, len(names)),
            )


def _exception_reason(passage: Passage, sentence: str, stem: str, question: str, answer: str, count: int) -> str | None:
    if count > 1:
        return "several_candidates"
    if "ubclass of" in stem:
        return "inheritance"
    if not (7 if passage.definition and passage.direct else 10) <= len(stem.split()) <= 32:
        return "length"
    if _CODE_MARKS.search(sentence):
        return "code"
    if not _CONDITION.search(sentence):
        return "no_condition"
    if DEICTIC.search(sentence):
        return "deixis"
    return "leak" if leaks(answer, question) else None
