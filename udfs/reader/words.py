"""Words of passages and questions, and the terms by which they are found."""

from __future__ import annotations

import re

#: Short quoted literals, numbers (versions, decimals, signs), words and dotted names, empty literals; in this order of preference.
WORD = re.compile(
    r"(?<!\w)'[^'\s]{1,30}'(?!\w)|\"[^\"\s]{1,30}\"|(?<![\w)])[+-]?\d+(?:[.,:/]\d+)*%?(?!\w)|\w+(?:[.'\u2019-]\w+)*|\(\)|\[\]|\{\}"
)
SENTENCE_END = re.compile(r"(?:[.!?][\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9_])|\n+)")
_PIECE = re.compile(r"[^\W_]+")

STOP_WORDS = frozenset({
    "a", "an", "the", "and", "or", "but", "nor", "of", "in", "on", "at", "to", "from", "by", "with", "without", "for", "as", "into",
    "onto", "than", "then", "that", "this", "these", "those", "there", "here", "is", "are", "was", "were", "be", "been", "being", "am",
    "do", "does", "did", "done", "has", "have", "had", "having", "will", "would", "shall", "should", "can", "could", "may", "might",
    "must", "not", "no", "it", "its", "he", "she", "they", "them", "his", "her", "their", "we", "you", "your", "i", "me", "my", "our",
    "us", "who", "whom", "whose", "which", "what", "when", "where", "why", "how", "if", "while", "because", "so", "such", "also", "only",
    "just", "very", "more", "most", "other", "another", "some", "any", "each", "both", "all", "same", "own", "about", "after", "before",
    "between", "during", "over", "under", "above", "below", "up", "down", "out", "off", "again", "further", "once", "s", "t",
})  # fmt: skip


def stem(word: str) -> str:
    """The term of a word: case folded, a plural s dropped where it surely is one."""
    folded = word.casefold().strip("'\"\u2019")
    if len(folded) > 3 and folded.endswith("s") and not folded.endswith(("ss", "us", "is")):
        return folded[:-1]
    return folded


def terms(text: str) -> list[str]:
    """Terms of a text in order: words, and the pieces of dotted, hyphenated and underscored names beside the whole name."""
    found: list[str] = []
    for match in WORD.finditer(text):
        word = match.group()
        whole = stem(word)
        if whole and whole not in STOP_WORDS:
            found.append(whole)
        pieces = _PIECE.findall(word)
        if len(pieces) > 1 or (pieces and pieces[0] != word and stem(pieces[0]) != whole):
            found.extend(piece for piece in map(stem, pieces) if piece and piece not in STOP_WORDS and piece != whole)
    return found


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, in code points; a line break ends one."""
    spans, start = [], 0
    for match in SENTENCE_END.finditer(text):
        spans.append((start, match.end()))
        start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return [(a, b) for a, b in spans if text[a:b].strip()]
