"""Processes that this one starts with the same code."""

from __future__ import annotations

import os
from pathlib import Path

import udfs


def child_environment() -> dict[str, str]:
    """This process's environment, with the place of the rooms on the path: a checkout, an installation or the zip."""
    root = str(Path(udfs.__file__).parents[1])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{path}" if path else root}
