"""The task of a grading process: a chunk of rows graded in the form that its writer takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from udfs.killpoints import reach
from udfs.verifiers.chunks import Chunk
from udfs.verifiers.grade_lines import grade_lines
from udfs.verifiers.registry import ROW_SECONDS, verifiers
from udfs.verifiers.task import Marker, Task


def start(settings: Mapping[str, Any]) -> Task:
    """Make the task.

    Args:
        settings: ``allow_weak_sandbox``, ``keep_inputs``, and ``out``, the form of what comes out.
    """
    table = verifiers(allow_weak_sandbox=settings["allow_weak_sandbox"])
    keep: bool = settings["keep_inputs"]

    def answer(chunk: Chunk, at: Marker, lost: Mapping[int, str]) -> tuple[bytes, dict[str, Any]]:
        def begin(row: int, name: object) -> None:
            verifier = table.get(name) if isinstance(name, str) else None
            at.put(row, verifier.seconds if verifier else ROW_SECONDS)
            if name is not None:
                reach("verifiers/row")

        if chunk.form == "lines":
            graded, tally = grade_lines(chunk, table, begin, lost, keep_inputs=keep)
            return graded, tally.plain()
        from udfs.verifiers.grade_batch import as_batch, as_lines, grade_batch, packed

        carried, found, tally = grade_batch(chunk, table, begin, lost, keep_inputs=keep)
        return as_lines(carried, found) if settings["out"] == "lines" else packed(as_batch(carried, found)), tally.plain()

    return answer
