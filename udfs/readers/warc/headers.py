"""Header blocks of WARC records and of HTTP messages, in whatever state they are."""

from __future__ import annotations

import re

#: Bytes that a header block may have.
MAX_HEADER = 1 << 16
BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_FOLD = re.compile(r"\r?\n[ \t]+")


def parse_headers(block: bytes) -> dict[str, str]:
    """Fields by lower-case name; of a name that occurs twice the first value, of folded lines the sum; what is no field is passed over."""
    text = _FOLD.sub(" ", block.decode("utf-8", "replace"))
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        if colon and name.strip():
            fields.setdefault(name.strip().lower(), value.strip())
    return fields


def split_media_type(value: str) -> tuple[str, str | None]:
    """``text/html; charset="utf-8"`` -> ``("text/html", "utf-8")``, in lower case."""
    kind, _, rest = value.partition(";")
    found = re.search(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", rest, re.IGNORECASE)
    return kind.strip().lower(), found.group(1).lower() if found else None
