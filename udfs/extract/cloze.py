"""Clozes in prose: the page's title, a sentence of it, and one number, date, year or name left blank (E§1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from schemas.contract import AnswerContract
from udfs.extract.candidate import BLANK, MAX_DISTRACTORS, Candidate, normal, number_contract, one_line, pattern_id, text_contract
from udfs.extract.leak import leaks
from udfs.extract.outline import Outline
from udfs.extract.segment import sentences_of
from udfs.extract.spans import Span, code_names, dates, names, quantities, years
from udfs.extract.wording import DEICTIC, METAVARIABLE, PRONOUN, SUBORDINATE

MIN_WORDS, MAX_WORDS = 8, 30
#: The page of one function says what a sentence is about, so that a shorter one stands.
MIN_WORDS_OF_PAGE = 6
_UNREADABLE = re.compile(r"[{}<>|\\=~^;:*\[\]/#…@]|--|\.\.|\?|!|Copyright|\([cC]\)")
_DIGIT = re.compile(r"[0-9]")
_CLAUSE_END = re.compile(r"[\"”`']*\s*(?:[.)]|,)")
_EXCEPTION = re.compile(r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration)$")
#: What a name of code is called behind it; such a blank need not end its clause.
_ROLE = re.compile(
    r"[\"”`']*\s+(?:built-in )?(?:method|function|module|attribute|statement|keyword|operator|exception|class|package|type|command|argument|parameter|option|flag|encoding|clause|object|hook|decorator)s?\b"
)
_WORD = re.compile(r"[^\W_]+")
_ANCHOR = re.compile(r"(?<![\w.])(?:[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*|\d[\d.,]*|\"[^\"]{1,40}\"|[a-z]\w*\(\))")
_RANGE = re.compile(r"(?:\d|[–-]|\bto|\bor|\band|\bbetween|\bfrom)\s*$")
_DETOKENISED = (
    (" @-@ ", "-"),
    (" @,@ ", ","),
    (" @.@ ", "."),
    (" ,", ","),
    (" .", "."),
    (" 's", "'s"),
    ("( ", "("),
    (" )", ")"),
    (" ;", ";"),
    (" :", ":"),
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its topic."""

    start: int
    end: int
    topic: str | None
    parameters: frozenset[str] | None  # of the definition that the sentence explains, None where it explains none

    @property
    def in_definition(self) -> bool:
        """Whether the sentence explains a definition."""
        return self.parameters is not None


def sentences(doc: Outline) -> Iterator[Sentence]:
    """Sentences of a length that can be asked about and that hold a capital or a digit behind their first word."""
    text = doc.text
    for passage in doc.passages:
        if not passage.block.bullet and not text[passage.block.start].isupper() and text[passage.block.start] not in "\"'“":
            continue
        names = frozenset(item.name.lstrip("*") for item in passage.definition.parameters) if passage.definition else None
        for start, end in sentences_of(text, passage.block):
            count = len(text[start:end].split())
            if MIN_WORDS_OF_PAGE <= count <= 2 * MAX_WORDS:
                yield Sentence(start, end, passage.topic, names)


def spans_of(text: str, sentence: Sentence) -> list[Span]:
    """All possible answers of a sentence; a year within a date is the date's."""
    start, end = sentence.start, sentence.end
    found: list[Span] = []
    if _DIGIT.search(text, start, end):
        found += quantities(text, start, end)
        whole = dates(text, start, end)
        found += whole
        found += [span for span in years(text, start, end) if not any(date.start <= span.start < date.end for date in whole)]
    code = code_names(text, start, end)
    free = [span for span in names(text, start, end) if not any(other.start < span.end and span.start < other.end for other in code)]
    return found + free + code


def detokenise(text: str) -> str:
    """Readable spacing for a question; the answer and its offsets are untouched."""
    line = one_line(text)
    if " ." in line or " ," in line or "@" in line:
        for old, new in _DETOKENISED:
            line = line.replace(old, new)
        line = re.sub(r"\" ([^\"]*?) \"", r'"\1"', line)
    return line


def stem_of(text: str, sentence: Sentence, span: Span) -> str:
    """The sentence with its blank; a number leaves its unit, and takes its conversion along."""
    unit = re.sub(r"\s+", " ", span.unit or "")
    return detokenise(text[sentence.start : span.blank[0]] + BLANK + unit + text[span.blank[1] : sentence.end])


def cloze_pattern(kind: str, stem: str) -> str:
    """Pattern of a cloze: kind and sentence, without title and answer."""
    return pattern_id(f"cloze_{kind}", stem.replace(BLANK, " 0blank0 "))


def at_clause_end(text: str, sentence: Sentence, span: Span) -> bool:
    """Whether nothing of the clause follows the blank (a name of code may be followed by what it names)."""
    if span.kind == "code" and _ROLE.match(text, span.blank[1], sentence.end):
        return True
    if span.unit and span.unit[0] == "-":
        return re.match(r"(?: [a-z-]+){0,3}[.,)]", text[span.blank[1] : min(sentence.end, span.blank[1] + 60)]) is not None
    return _CLAUSE_END.match(text, span.blank[1], sentence.end) is not None


def clozes(doc: Outline) -> Iterator[Candidate]:
    """A candidate for every clause-final span, rejected by the first filter that does not hold; distractors stand near it in the text."""
    text = doc.text
    pool: dict[str, dict[str, str]] = {}
    found: list[tuple[Sentence, Span, list[Span]]] = []
    for sentence in sentences(doc):
        spans = spans_of(text, sentence)
        for span in spans:
            pool.setdefault(span.kind + (span.unit or ""), {}).setdefault(normal(span.gold), span.gold)
            if at_clause_end(text, sentence, span):
                found.append((sentence, span, spans))
    golds = {kind: list(values.values()) for kind, values in pool.items()}
    places = {kind: {key: index for index, key in enumerate(values)} for kind, values in pool.items()}
    for sentence, span, spans in found:
        kind = span.kind + (span.unit or "")
        here = places[kind][normal(span.gold)]
        near = golds[kind][max(0, here - MAX_DISTRACTORS) : here] + golds[kind][here + 1 : here + 1 + MAX_DISTRACTORS]
        yield _candidate(doc, sentence, span, spans, tuple(near[-MAX_DISTRACTORS:]))


def _candidate(doc: Outline, sentence: Sentence, span: Span, spans: list[Span], others: tuple[str, ...]) -> Candidate:
    stem = stem_of(doc.text, sentence, span)
    topic = detokenise(sentence.topic) if sentence.topic else ""
    question = f"{topic}: {stem}" if topic else stem
    reason = _sentence_reason(stem, sentence, technical=span.kind == "code") or _span_reason(doc.text, sentence, span, spans, stem, topic)
    return Candidate(
        kind=f"cloze_{span.kind}",
        subject=topic or stem.split(BLANK)[0][:60].strip(),
        question=question,
        answer=(span.start, span.end),
        evidence=(sentence.start, sentence.end),
        contract=_contract(span),
        pattern=cloze_pattern(span.kind, stem),
        distractors=others,
        reason=reason or ("leak" if leaks(span.gold, question) else None),
        rank=len(stem.split()),
    )


def _contract(span: Span) -> AnswerContract:
    if span.kind == "number":
        return number_contract(span.gold, one_line((span.unit or "").strip("- ")) or None)
    if span.kind == "year":
        return number_contract(span.gold)
    if span.kind == "code":
        return text_contract(span.gold, f"{span.gold}()", span.gold.rpartition(".")[2])
    if span.kind == "date":
        return AnswerContract(type="date", gold=span.gold)
    return text_contract(span.gold, *([span.gold.removeprefix("The ")] if span.gold.startswith("The ") else []))


def _sentence_reason(stem: str, sentence: Sentence, *, technical: bool) -> str | None:
    """The first filter that the sentence fails, whatever its blank holds; names of code stand subordinate clauses and short sentences."""
    words = stem.split()
    head = " ".join(words[:5])
    if not (MIN_WORDS_OF_PAGE if technical and sentence.in_definition else MIN_WORDS) <= len(words) <= MAX_WORDS:
        return "length"
    if _UNREADABLE.search(stem.replace(BLANK, "")):
        return "unreadable"
    if not (stem[0].isupper() or stem[0] in '"“') or not stem.endswith("."):
        return "not_a_sentence"
    if stem.count('"') % 2 or stem.count("“") != stem.count("”") or stem.count("(") != stem.count(")"):
        return "unbalanced"
    if DEICTIC.search(stem):
        return "deixis"
    if PRONOUN.search(head):
        return "early_pronoun"
    if not technical and SUBORDINATE.search(stem):
        return "subordinate"
    if METAVARIABLE.search(stem):
        return "metavariable"
    if sentence.topic is not None and "<" in sentence.topic:
        return "unreadable_topic"
    if sentence.topic is None and not _ANCHOR.match(stem):
        return "no_topic"
    return None


def _span_reason(text: str, sentence: Sentence, span: Span, spans: list[Span], stem: str, topic: str) -> str | None:
    """The first filter that the blank fails."""
    before = text[max(sentence.start, span.start - 12) : span.start]
    if sum(other.kind == span.kind for other in spans) > 1:
        return "several_candidates"
    if span.kind != "code" and _RANGE.search(before):
        return "range_or_list"
    if (code_reason := _code_reason(text, sentence, span)) is not None:
        return code_reason
    if span.kind == "number" and before.rstrip().endswith("("):
        return "conversion_twin"
    if span.kind == "year" and ("quivalent" in stem or re.search(r"\bAs of\s$", before)):
        return "relative_year"
    if span.kind == "year" and not re.search(r"\b(?:in|since|of|until|by)\s$", before):
        return "year_without_in"
    if span.kind == "name" and not re.search(r"\b(?:by|in|at|of|from|with|as|to|on|for|named|called|near)\s+(?:the\s+)?$", before):
        return "name_without_preposition"
    if stem.count(BLANK) != 1:
        return "unreadable"
    head = {word.lower() for word in _WORD.findall(" ".join(stem.split()[:5])) if len(word) > 2}
    if span.kind == "code":
        return None if sentence.in_definition or len(stem.split()) > MIN_WORDS else "too_few_anchors"
    about_topic = bool(head & {word.lower() for word in _WORD.findall(topic) if len(word) > 2})
    anchors = [anchor for anchor in _ANCHOR.findall(stem.replace(BLANK, "")) if anchor not in ("The", "A", "An", "In")]
    if not about_topic and len(anchors) < 2:
        return "too_few_anchors"
    return None


def _code_reason(text: str, sentence: Sentence, span: Span) -> str | None:
    """Filters of names in technical prose: capitals stand for parameters there, and an enumeration has several right answers."""
    if span.kind == "name" and sentence.in_definition and span.gold.isupper():
        return "metavariable"
    if span.kind != "code":
        return None
    if len(span.gold) < 3 or span.gold in ("None", "True", "False", "self"):
        return "common_answer"
    if sentence.parameters and span.gold in sentence.parameters:
        return "metavariable"
    role = _ROLE.match(text, span.end, sentence.end) is not None
    if span.gold.isalpha() and text[span.start - 1] in '"“' and not role and not _EXCEPTION.search(span.gold):
        return "quoted_word"  # quotes also mark irony, titles and defined terms
    if re.search(r"(?:\b(?:and|or|like|as)|,)\s+[\"“`]*$", text[max(sentence.start, span.start - 12) : span.start]):
        return "range_or_list"
    return None
