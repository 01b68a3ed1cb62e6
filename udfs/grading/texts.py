"""Short texts, compared as names and words or, where they are code, as code."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from udfs.grading.characters import DASHES

#: Typographic quotes, primes and dashes as ASCII.
QUOTES = str.maketrans(dict.fromkeys("‘’‚‛′", "'") | dict.fromkeys("“”„‟«»″", '"') | DASHES)
_PAIRS = (("'", "'"), ('"', '"'), ("`", "`"), ("**", "**"), ("*", "*"))
_CONSTANTS = frozenset({"None", "True", "False", "NotImplemented", "Ellipsis", "null", "true", "false", "nil", "NaN", "nan", "NULL"})
_CODE_SIGN = re.compile(r"[_()\[\]{}=<>\\/|@#$%^~+*]|(?<!\w)-{1,2}\w|\w\.\w+\Z(?<!\w\.\w)|::|->")
_LETTER_DIGIT = re.compile(r"\A(?=\S*[A-Za-z])(?=\S*\d)\S+\Z")
_CAMEL = re.compile(r"\A[A-Za-z]*[a-z0-9][A-Z][A-Za-z0-9]*\Z|\A[A-Z]{2,}[a-z][A-Za-z0-9]+\Z")
_NAME_CAMEL = re.compile(r"\A(?:Mc|Mac|De|Di|Du|La|Le|Van|Fitz)[A-Z][a-z]+\Z")
_AROUND_SIGN = re.compile(r"\s*([^\w\s'\"])\s*")
_CALL = re.compile(r"\A[A-Za-z_][\w.]*\(\)\Z")
_IDENTIFIER = re.compile(r"\A[A-Za-z_][\w.]*\Z")
_ARTICLE = re.compile(r"\A(?:the|an?)\s+")
LEAD = re.compile(r"\A(?:so\s+)?(?:the\s+)?(?:(?:final|correct|right)\s+)?answer\s+is\s*:?\s+", re.IGNORECASE)
# No underscore: `__mro__` is another name than `mro`.
_EDGES = " \t\r\n.,;:!?*`\"'()[]{}"


@lru_cache(maxsize=16384)
def is_code_like(gold: str) -> bool:
    """Whether case and inner punctuation of a gold carry meaning: identifiers, constants, literals, options, paths.

    Args:
        gold: a short text. One-letter golds count as code (``'b'`` and ``'B'`` are two type codes); ``McDonald`` does not.
    """
    bare = gold.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"`":
        return True
    if bare in _CONSTANTS or len(bare) == 1:
        return True
    if _CODE_SIGN.search(bare) or _LETTER_DIGIT.match(bare):
        return True
    return bool(_CAMEL.match(bare)) and not _NAME_CAMEL.match(bare)


def _unquote(text: str) -> str:
    """Without matched quotes, backticks or emphasis around the whole; an empty literal stays a literal."""
    for _ in range(4):
        for left, right in _PAIRS:
            if len(text) >= len(left) + len(right) and text.startswith(left) and text.endswith(right):
                inner = text[len(left) : len(text) - len(right)]
                if not inner:
                    return "''"
                if left in inner and left not in ("*", "**"):
                    continue
                text = inner.strip() or text
                break
        else:
            return text
    return text


@lru_cache(maxsize=16384)
def normalise_code(text: str) -> str:
    """Code as compared: case kept, quotes around the whole dropped, no space beside punctuation."""
    text = unicodedata.normalize("NFKC", text).translate(QUOTES).strip()
    text = LEAD.sub("", text)
    if len(text) > 1 and text[-1] in ".," and text[-2] not in ".,":
        text = text[:-1]
    text = _unquote(text.strip())
    return " ".join(_AROUND_SIGN.sub(r"\1", text).split())


@lru_cache(maxsize=16384)
def normalise_text(text: str) -> str:
    """Words as compared: NFKC, case folded, one space, no quotes, article or punctuation around the whole."""
    text = unicodedata.normalize("NFKC", text).translate(QUOTES).casefold()
    text = LEAD.sub("", " ".join(text.split()))
    bare = text.strip(_EDGES)
    shorter = _ARTICLE.sub("", bare).strip(_EDGES)
    return shorter or bare or text


def matches(gold: str, answer: str, *, code: bool = False) -> bool:
    """Whether an answer equals one gold text, by the rules of its kind.

    Args:
        gold: gold or alias.
        answer: the candidate's answer.
        code: take the gold for code whatever it looks like: an alias of code is code (``single`` beside ``'single'``).
    """
    if not (code or is_code_like(gold)):
        return normalise_text(answer) == normalise_text(gold)
    wanted, said = normalise_code(gold), normalise_code(answer)
    if said == wanted:
        return True
    # "Which function ...?" is as well answered by the call as by the name.
    return bool(_CALL.match(said)) and said[:-2] == wanted and bool(_IDENTIFIER.match(wanted)) and wanted not in _CONSTANTS
