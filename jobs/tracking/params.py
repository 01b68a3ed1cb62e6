"""Settings as MLflow parameters: flat names, texts, within MLflow's limits (L§3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jobs.tracking.destination import redacted
from schemas.ids import canonical_json, text_hash

#: MLflow keeps 6,000 characters of a parameter and 250 of its name.
VALUE_LIMIT, NAME_LIMIT = 6000, 250
#: A tag's value; 8,000 since MLflow 2.13, 5,000 before.
TAG_LIMIT = 5000
#: Settings about machines and access: they change no row, and may hold secrets.
_LEFT_OUT = ("spark", "work", "track", "maintain", "publish.remote")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_. /-]")


def flat_params(settings: Mapping[str, Any]) -> dict[str, str]:
    """``{"plan": {"band": [0.1, 0.9]}}`` -> ``{"plan.band": "[0.1,0.9]"}``, in order of the names."""
    return {clean_name(name): clean_value(value) for name, value in sorted(_leaves(settings, "")) if not _left_out(name)}


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif name:
        yield name, value


def _left_out(name: str) -> bool:
    return any(name == entry or name.startswith(f"{entry}.") for entry in _LEFT_OUT)


def clean_name(name: str) -> str:
    """A name that MLflow takes; one that it would not take keeps a hash, so that two never fall together."""
    cleaned = _NOT_IN_NAMES.sub("_", name)
    # MLflow reads names as paths: a leading slash, `..` or an empty part would be refused.
    if cleaned == name and len(name) <= NAME_LIMIT and all(part not in {"", ".", ".."} for part in name.split("/")):
        return name
    return cleaned.replace("/", "_").strip(". ")[: NAME_LIMIT - 9] + "-" + text_hash(name)[:8]


def clean_value(value: Any, limit: int = VALUE_LIMIT) -> str:
    """A value as text without credentials; a text that is too long ends with the hash of the whole."""
    text = redacted(value if isinstance(value, str) else canonical_json(value))
    # A database takes no lone surrogates and PostgreSQL no NUL.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")
    return text if len(text) <= limit else text[: limit - 44] + f" ... sha256 {text_hash(text)}"
