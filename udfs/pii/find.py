"""Finders of personal data and secrets. Each looks from a rare mark (an at sign, a digit, a known prefix) over a bounded stretch: linear time.

Precision goes first. What stays: addresses and numbers that are set aside for documentation, loopback and private networks, version numbers,
dates, decorators, file names, plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from udfs.pii.domains import ALSO_FILES, RESERVED_NAMES, RESERVED_TOP_LEVEL, TOP_LEVEL
from udfs.pii.kinds import KINDS, Kind, Span
from udfs.pii.numbers import find_cards, find_ips, find_phones
from udfs.pii.secrets import find_keys

#: RFC 5321: octets of a local part and of a domain.
_MAX_LOCAL, _MAX_DOMAIN = 64, 253
_LOCAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-'")
_DOMAIN = re.compile(r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")
_ALSO_DOMAINS = frozenset("._%+-'")


def _domain_end(text: str, start: int) -> int:
    """End of a mail domain that begins at ``start``; -1 where none does."""
    found = _DOMAIN.match(text, start, start + _MAX_DOMAIN)
    if found is None:
        return -1
    labels = found.group().split(".")
    # "a@b.com.Then": a sentence goes on without a blank; labels that no domain ends in are left behind.
    while len(labels) > 1 and labels[-1].lower() not in TOP_LEVEL:
        labels.pop()
    name = ".".join(labels).lower()
    if len(labels) < 2 + (labels[-1].lower() in ALSO_FILES) or any(label.startswith("-") or label.endswith("-") for label in labels):
        return -1
    if found.group().rsplit(".", 1)[-1].lower() in RESERVED_TOP_LEVEL or any(name == r or name.endswith("." + r) for r in RESERVED_NAMES):
        return -1
    end = start + len(name)
    cut_short = end < found.end()
    # x@y.is(...) is code, git@host.org:path an address of a repository, and a@b.co.method the attribute of a product.
    if (
        text[end : end + 1] in {"(", "[", "/", "@"}
        or (cut_short and text[end + 1].islower())
        or (text[end : end + 1] == ":" and text[end + 1 : end + 2].strip())
    ):
        return -1
    return end


def find_emails(text: str) -> Iterator[Span]:
    """Mail addresses: local part, at sign, a domain whose last label is a known top-level domain."""
    at = text.find("@")
    while at >= 0:
        start = at
        while start > 0 and at - start <= _MAX_LOCAL and text[start - 1] in _LOCAL:
            start -= 1
        while start < at and text[start] in _ALSO_DOMAINS:  # quotes and dots before it are not its own
            start += 1
        if (
            start < at
            and at - start <= _MAX_LOCAL
            and text[at - 1] not in ".'"
            and text[start - 1 : start] not in {"/", ":", "="} | ({"@"} if start else set())
        ):
            end = _domain_end(text, at + 1)
            if end > 0:
                yield Span(start, end, "email")
        at = text.find("@", at + 1)


_FINDERS: dict[Kind, Callable[[str], Iterator[Span]]] = {
    "key": find_keys,
    "email": find_emails,
    "card": find_cards,
    "ip": find_ips,
    "phone": find_phones,
}


def find_pii(text: str) -> list[Span]:
    """All finds in order of place, none overlapping another: of two that do, the kind that comes first in ``KINDS`` stays."""
    found: list[Span] = []
    for kind in KINDS:
        new = list(_FINDERS[kind](text))
        if new:
            found = _merged(found, new) if found else new
    return found


def _merged(held: list[Span], new: list[Span]) -> list[Span]:
    """``held`` and those of ``new`` that overlap none of them; both in order of place."""
    out, at = [], 0
    for span in new:
        while at < len(held) and held[at].end <= span.start:
            out.append(held[at])
            at += 1
        if at == len(held) or held[at].start >= span.end:
            out.append(span)
    return [*out, *held[at:]]
