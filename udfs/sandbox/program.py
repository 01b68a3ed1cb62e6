"""Programs of ours that run inside: a sandbox cannot import them, so they go in as one file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files


def one_file(package: str, modules: Sequence[str], without: Sequence[str]) -> str:
    """Modules of a package in one text, one after the other.

    Args:
        package: where they lie.
        modules: their names, in order.
        without: beginnings of lines that are left out: imports of each other, and those of names that only types need (annotations are
            never evaluated).
    """
    room = files(package)
    gone = ("from __future__ ", *without)
    lines = [line for name in modules for line in room.joinpath(f"{name}.py").read_text("utf-8").split("\n") if not line.startswith(gone)]
    return "from __future__ import annotations\n" + "\n".join(lines)
