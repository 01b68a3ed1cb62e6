"""HTML to text: resiliparse beside trafilatura, on speed and on what is kept.

    python tests/benchmarks/html_extractors.py [ARCHIVE.warc ...]

Pages: the HTML responses of the archives named, and pages that ``pydoc`` writes about modules of the standard library. trafilatura is no
dependency of verilake: run this in an environment that has it, too (``pip install trafilatura lxml_html_clean``); without it only
resiliparse is measured. For each page of an archive the share of its prose that each keeps is printed: sentences of the page (what
stands in ``p`` elements) found in the text, and the share of the text's lines that are navigation (what stands in ``nav``, ``footer``,
``header``, or in a list of links).
"""

from __future__ import annotations

import importlib
import pydoc
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecordType
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

try:
    import trafilatura
except ImportError:
    trafilatura = None

MODULES = ("json", "argparse", "statistics", "textwrap", "heapq", "collections", "decimal", "datetime", "pathlib", "logging")
SECONDS = 3.0
_SPACE = re.compile(r"\s+")
_LINKS = "nav, footer, header, aside, .menu, .nav, #footer, #header, .navigation"


def main(archives: list[str]) -> None:
    """Measure and print."""
    crawled = [page for name in archives for page in pages_of(Path(name))]
    written = [pydoc.html.page(name, pydoc.html.document(importlib.import_module(name))) for name in MODULES]
    extractors: dict[str, Callable[[str], str]] = {
        "resiliparse, page": lambda html: extract_plain_text(html, alt_texts=False),
        "resiliparse, main": lambda html: extract_plain_text(html, main_content=True, alt_texts=False),
    }
    if trafilatura is not None:
        extractors["trafilatura"] = lambda html: trafilatura.extract(html) or ""
        extractors["trafilatura, fast"] = lambda html: trafilatura.extract(html, fast=True) or ""
    print(f"{len(crawled)} crawled pages, {len(written)} pages of pydoc, {sum(map(len, crawled + written)) / 1e6:.2f} million characters")
    print(f"{'':20} {'MB/s':>7} {'pages/s':>8} {'prose kept':>11} {'furniture kept':>15}")
    for name, extract in extractors.items():
        speed, pages = measured(extract, crawled + written)
        kept = [kept_of(extract(html), html) for html in crawled]
        prose = sum(k[0] for k in kept) / max(1, sum(k[1] for k in kept))
        furniture = sum(k[2] for k in kept) / max(1, sum(k[3] for k in kept))
        print(f"{name:20} {speed:7.2f} {pages:8.1f} {prose:11.2f} {furniture:15.2f}")


def pages_of(path: Path) -> list[str]:
    """HTML responses of an archive, as far as FastWARC reads it."""
    found = []
    with path.open("rb") as file:
        try:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, auto_decode="all"):
                if (
                    record.http_headers is not None
                    and "html" in (record.http_content_type or "")
                    and record.http_headers.status_code == 200
                ):
                    data = record.reader.read()
                    found.append(bytes_to_str(data, record.http_charset or detect_encoding(data, from_html_meta=True)))
        except OSError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
    return found


def measured(extract: Callable[[str], str], pages: list[str]) -> tuple[float, float]:
    """Million characters and pages a second of one core, over whole passes of ``SECONDS`` at the least."""
    started, passes = time.process_time(), 0
    while (spent := time.process_time() - started) < SECONDS or not passes:
        for html in pages:
            extract(html)
        passes += 1
    return passes * sum(map(len, pages)) / 1e6 / spent, passes * len(pages) / spent


def kept_of(text: str, html: str) -> tuple[int, int, int, int]:
    """Paragraphs kept, paragraphs, links of the furniture kept, links of the furniture."""
    flat = _SPACE.sub("", text)
    tree = HTMLTree.parse(html)
    body = tree.body
    paragraphs = [_SPACE.sub("", node.text) for node in body.query_selector_all("p") if len(node.text.split()) >= 8]
    furniture = [node.text.strip() for outer in body.query_selector_all(_LINKS) for node in outer.query_selector_all("a")]
    lines = {line.strip(" •-*\t") for line in text.splitlines()}
    furniture = [words for words in furniture if words]
    return sum(p[:60] in flat for p in paragraphs), len(paragraphs), sum(words in lines for words in furniture), len(furniture)


if __name__ == "__main__":
    main(sys.argv[1:])
