"""An archive, or a range of its bytes, as records and rejects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from schemas.conf import Ingest
from udfs.readers.parts import WHOLE, Part, Reached
from udfs.readers.record import Record, Reject
from udfs.readers.warc.document import to_item
from udfs.readers.warc.frames import Archive, Frame


def read_warc(
    file: BinaryIO, conf: Ingest, relative: str, part: Part = WHOLE, told: Callable[[Reached], None] = lambda _reached: None
) -> Iterator[Record | Reject]:  # fmt: skip
    """Records and rejects that begin in ``part``, in order of position.

    Args:
        file: the archive.
        conf: settings.
        relative: its name in addresses.
        part: range of bytes.
        told: called once at the end with what the pass has met, from which :func:`udfs.readers.parts.joined` sees whether parts fit.
    """
    archive = Archive(file, conf.max_document_bytes, part.begin, None if part.end < 0 else part.end)
    for item in archive.frames():
        yield to_item(item, conf, relative) if isinstance(item, Frame) else item
    told(Reached(archive.first, archive.next, archive.last))
