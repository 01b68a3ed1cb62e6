"""Text from outside, made safe for a terminal."""

from __future__ import annotations

import unicodedata

#: Control, format (also those that reverse the direction of writing), surrogate, and line and paragraph separators.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str, limit: int | None = None) -> str:
    """``text`` in one line, whatever it holds: what would steer a terminal is shown as an escape; cut to ``limit`` characters."""
    cut = text if limit is None or len(text) <= limit else text[:limit] + " …"
    return "".join(char.encode("unicode_escape").decode("ascii") if unicodedata.category(char) in _UNSAFE else char for char in cut)
