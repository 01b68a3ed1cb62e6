"""Bytes of the web to text: what charset they are in, and how that is known.

Evidence counts in this order: a byte order mark; bytes beyond ASCII that are valid UTF-8 throughout, which no other charset produces by chance;
the HTTP header; the page's own ``meta``; a detector (uchardet, through resiliparse). A charset under which the bytes do not decode is
wrong, whoever named it, and the next one is tried.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

How = Literal["bom", "content", "header", "meta", "detected"]

_BOMS: tuple[tuple[bytes, str], ...] = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"<meta\b[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
#: The HTML standard looks for a charset within so many bytes.
_META_BYTES = 1024 * 4
_DETECT_BYTES = 1 << 17
#: Share of characters that may stand for bytes without a meaning; beyond it nothing sensible remains.
MAX_BROKEN = 0.05
_BROKEN = re.compile("[\ufffd\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the charset it was in, how that was found, and how many characters stand for bytes that have no meaning in it."""

    text: str
    charset: str
    how: How
    broken: int


def decode(data: bytes, declared: str | None, *, html: bool) -> Decoded | None:
    """Text of ``data``, or None where nothing sensible remains.

    Args:
        data: bytes.
        declared: charset of the HTTP header.
        html: whether a ``meta`` element may name one.
    """
    for bom, wide in _BOMS:
        if data.startswith(bom):
            return _judged(data[len(bom) :].decode(wide, "replace"), wide, "bom")
    if not data.isascii():
        utf8 = _strict(data, "utf-8")
        if utf8 is not None:
            return Decoded(utf8, "utf-8", "header" if _codec(declared) == "utf-8" else "content", 0)
    tried: list[tuple[str, How]] = []
    for label, how in _named(data, declared, html=html):
        name = _codec(label)
        if name is None:
            continue
        text = _strict(data, name)
        if text is not None:
            return Decoded(text, name, how, 0) if data.isascii() else _judged(text, name, how)
        tried.append((name, how))
    # Nothing fits to the byte. Few bytes are damaged more often than all of a page is mislabelled.
    best = [_judged(data.decode(name, "replace"), name, how) for name, how in tried or [("utf-8", "detected")]]
    found = [entry for entry in best if entry is not None]
    return min(found, key=lambda entry: entry.broken) if found else None


def _named(data: bytes, declared: str | None, *, html: bool) -> Iterator[tuple[str | None, How]]:
    yield declared, "header"
    if html:
        found = _META.search(data[:_META_BYTES])
        if found is not None:
            label = found[1].decode("ascii", "replace").lower()
            # A page whose meta element could be read is not in UTF-16, whatever it says (HTML standard, 13.2.3.2).
            yield ("utf-8" if label.startswith("utf-16") else label), "meta"
    if data.isascii():
        yield "utf-8", "detected"
    else:
        yield detect_encoding(data, _DETECT_BYTES), "detected"
        yield "utf-8", "detected"


def _codec(label: str | None) -> str | None:
    """Python's codec for a label of the web; None for an unknown one, and for codecs that are no charset (hex, zlib, idna)."""
    if not label:
        return None
    mapped = map_encoding_to_html5(label, False)
    if mapped is None:
        return None
    try:
        info = codecs.lookup(mapped)
    except LookupError:
        return None
    return info.name if getattr(info, "_is_text_encoding", True) else None


def _strict(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeError, ValueError):
        return None


def _judged(text: str, name: str, how: How) -> Decoded | None:
    broken = len(_BROKEN.findall(text))
    # Of the letters beyond ASCII too, else a page of Cyrillic under a wrong name would pass for its markup.
    return None if broken > MAX_BROKEN * len(text) else Decoded(text, name, how, broken)
