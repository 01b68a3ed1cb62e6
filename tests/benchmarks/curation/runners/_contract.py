"""What every peer's script gets and gives: ``SCRIPT INPUT_FOLDER OUTPUT_FOLDER SETTING`` in; ``removed.txt``, an id a line, out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

CORES = 2


def arguments() -> tuple[Path, Path, str]:
    source, out, setting = sys.argv[1:4]
    Path(out).mkdir(parents=True, exist_ok=True)
    return Path(source), Path(out), setting


def write_removed(out: Path, ids: Iterable[int]) -> None:
    (out / "removed.txt").write_text("".join(f"{row}\n" for row in sorted(ids)))
