"""The language reference that ``help('topic')`` prints, one document per topic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pydoc_data.topics import topics

from udfs.harvest.record import Record

#: Lines that only underline a heading; the heading itself stays.
_UNDERLINE = re.compile(r"^[*=\-~^\"]{3,}$")


def topic_records() -> Iterator[Record]:
    """Every topic in order of its name; the first line is the title."""
    for name in sorted(topics):
        lines = [line.rstrip() for line in topics[name].strip().splitlines()]
        kept = [line for line in lines if not _UNDERLINE.match(line)]
        if not kept:
            continue
        title = kept[0].replace('"', "").strip()
        yield Record(
            id=name,
            title=title,
            text="\n".join(kept) + "\n",
            license="PSF-2.0",
            extra={"topic": name, "domain": "python-language"},
        )
