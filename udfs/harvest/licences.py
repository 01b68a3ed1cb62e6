"""Licence, notice and README texts of the distributions installed beside this interpreter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import Distribution, distributions
from typing import cast

from udfs.harvest.record import Record

_WANTED = re.compile(r"^(licen[cs]e|copying|notice|authors|readme|changelog|changes|history|contributors)([.\-_].*)?$", re.IGNORECASE)
_TEXTUAL = re.compile(r"\.(txt|md|rst|apache|apache2|bsd|mit|psf|gpl|lgpl)$", re.IGNORECASE)
#: Longer files are collections of many licences (a few dozen of them exist); they would drown the rest.
MAX_BYTES = 400_000
UNKNOWN_LICENCE = "UNKNOWN"
_MAX_LICENCE_NAME = 60


def _message(dist: Distribution) -> Message:
    """The metadata as what it is at run time (the protocol in typeshed shows less)."""
    return cast("Message", dist.metadata)


def _declared_licence(dist: Distribution) -> str:
    """SPDX expression, else a short ``License`` field, else the last part of the licence classifier."""
    meta = _message(dist)
    for key in ("License-Expression", "License"):
        value = str(meta.get(key) or "").strip()
        if value and value != UNKNOWN_LICENCE and "\n" not in value and len(value) <= _MAX_LICENCE_NAME:
            return value
    for classifier in sorted(str(item) for item in meta.get_all("Classifier") or []):
        if classifier.startswith("License ::"):
            return classifier.rsplit("::", 1)[1].strip()
    return UNKNOWN_LICENCE


def _files(dist: Distribution) -> Iterator[tuple[str, str]]:
    """(path within the distribution, text) of its licence and README files, in order of path."""
    for file in sorted(dist.files or [], key=str):
        if not _WANTED.match(file.name) or not (_TEXTUAL.search(file.name) or "." not in file.name) or ".." in file.parts:
            continue
        try:
            data = file.read_binary()
            text = data.decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue  # listed but not installed, or not text
        if len(data) <= MAX_BYTES:
            yield str(file), text.replace("\r\n", "\n")


def licence_records() -> Iterator[Record]:
    """Documents in order of distribution and file; duplicates stay, they are what curation is shown on."""
    found: dict[str, Distribution] = {}
    for dist in distributions():
        if dist.metadata and dist.metadata["Name"]:
            found.setdefault(dist.metadata["Name"], dist)  # the first on the path is the one that is imported
    for name in sorted(found, key=lambda key: (key.lower(), key)):
        dist = found[name]
        licence = _declared_licence(dist)
        common = {"distribution": name, "version": dist.version}
        for path, text in _files(dist):
            short = path.rsplit("/", 1)[-1]
            yield Record(f"{name}/{path}", f"{name} {short}", text, licence, {**common, "kind": "file", "domain": "software-licences"})
        meta = _message(dist)
        text = str(meta.get_payload() or meta.get("Description") or "").replace("\r\n", "\n").strip()
        if text and len(text) <= MAX_BYTES:
            yield Record(f"{name}/METADATA", name, text + "\n", licence, {**common, "kind": "readme", "domain": "software-readmes"})
