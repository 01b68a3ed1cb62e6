"""Builds the zip for ``spark-submit --py-files``: the four rooms, conf/ and dvc.yaml, byte for byte the same from the same sources.

A wheel is not importable in Spark's Python workers, a zip is (L§5.1).
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOMS = ("schemas", "udfs", "gpu_workers", "jobs", "conf")
#: Files beside the rooms that a workspace is laid from.
FILES = ("dvc.yaml",)
_EPOCH = (1980, 1, 1, 0, 0, 0)


def build(target: Path, root: Path | None = None) -> Path:
    """Write the zip to ``target``, from the checkout or installation that this module belongs to."""
    root = root or Path(__file__).resolve().parents[1]
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        paths = [path for room in ROOMS for path in sorted((root / room).rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
        for path in (*paths, *(root / name for name in FILES)):
            # A fixed time: the same sources give the same zip.
            archive.writestr(zipfile.ZipInfo(str(path.relative_to(root)), _EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    part.replace(target)
    return target


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if len(sys.argv) > 1 else "dist/verilake.zip")))
