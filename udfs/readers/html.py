"""HTML to text, by resiliparse (Lexbor's parser, in native code).

Chosen over trafilatura, for it keeps more of the prose and no more of the furniture, at twenty times the speed. Measured by
``tests/benchmarks/html_extractors.py`` on three crawled pages (Wikipedia, IANA, example.com) and ten pages that pydoc writes, 0.73 million
characters, one loaded core, resiliparse 2.0.1, trafilatura 2.3.1:

====================  =====  =======  ===========================  ============================
extractor             MB/s   pages/s  paragraphs kept (of crawled)  links of navigation kept
====================  =====  =======  ===========================  ============================
resiliparse, page     42.4   758      1.00                         0.94
resiliparse, main     22.9   410      0.92                         0.04
trafilatura           1.1    20       0.83                         0.04
trafilatura, fast     1.3    22       0.83                         0.04
====================  =====  =======  ===========================  ============================

trafilatura also gives comments and metadata, which are not asked for here, and has a better name on news pages, of which the sample has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

Scope = Literal["main", "page"]

#: Tags of a page that is parsed: an element takes about 700 bytes of memory.
MAX_TAGS = 400_000
#: Depth from which on the search for the main content, whose time grows with its square, is left out.
MAX_DEPTH = 400
#: The elements whose nesting costs that time (measured on 40 kinds); a page with fewer of them cannot be that deep.
_TAG = re.compile(r"<(/?)(?:div|article|table|ol)\b", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_BLANK = re.compile(r"[ \t]+\n")


class TooManyTagsError(ValueError):
    """A page that would take too much memory."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says: its title, its text, and whether that is its main content or all of it."""

    title: str | None
    text: str
    scope: Scope


def extract(html: str, scope: Scope) -> Page:
    """Title and text of a page.

    Args:
        html: the page.
        scope: ``main``: without navigation, headers, footers and forms, as far as they can be told; where nothing is left then, all of it.

    Raises:
        TooManyTagsError: more than ``MAX_TAGS``.
    """
    tags = html.count("<")
    if tags > MAX_TAGS:
        raise TooManyTagsError(f"a page of {tags} tags; at most {MAX_TAGS} are parsed")
    tree = HTMLTree.parse(html)
    title = _SPACES.sub(" ", tree.title or "").strip() or None
    if scope == "main" and not _deep(html):
        text = _tidy(extract_plain_text(tree, main_content=True, alt_texts=False))
        if text:
            return Page(title, text, "main")
    return Page(title, _tidy(extract_plain_text(tree, alt_texts=False)), "page")


def _tidy(text: str) -> str:
    return _BLANK.sub("\n", text.replace("\r", "")).strip()


def _deep(html: str) -> bool:
    """Whether elements may be nested deeper than ``MAX_DEPTH``; unclosed ones count as open."""
    tags = _TAG.findall(html)
    depth = 0
    if len(tags) > MAX_DEPTH:
        for slash in tags:
            depth = max(depth - 1, 0) if slash else depth + 1
            if depth > MAX_DEPTH:
                return True
    return False
