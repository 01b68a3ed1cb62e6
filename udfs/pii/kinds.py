"""What is looked for, and what stands in its place."""

from __future__ import annotations

from typing import Literal, NamedTuple

#: Version of the finders, written beside every profile.
PII_SCHEME = "pii/v1"

Kind = Literal["email", "phone", "ip", "card", "key"]

#: In the order in which overlapping finds win.
KINDS: tuple[Kind, ...] = ("key", "email", "card", "ip", "phone")

PLACEHOLDERS: dict[Kind, str] = {"email": "[EMAIL]", "phone": "[PHONE]", "ip": "[IP]", "card": "[CARD]", "key": "[KEY]"}


class Span(NamedTuple):
    """A find: code points ``start`` to ``end`` (exclusive) of the text as received."""

    start: int
    end: int
    kind: Kind
