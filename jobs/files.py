"""Small files that readers find whole."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, data: bytes) -> None:
    """Create or overwrite a file; a reader sees the old bytes or the new ones, and a failure leaves the old ones alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
