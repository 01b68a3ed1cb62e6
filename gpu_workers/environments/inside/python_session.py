"""Runs inside the sandbox: one namespace that lives over several calls, each of them some code to execute."""

from __future__ import annotations

import ast
import builtins
import io
import os
import random
import sys
import traceback
from typing import Any

from gpu_workers.environments.inside.frames import serve

#: Characters kept of what one call prints, and of its traceback.
KEPT, TRACE = 60_000, 8_000
SOURCE = "<tool>"


class Kept(io.TextIOBase):
    """Keeps the beginning of what is written, and counts the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.room, self.dropped = KEPT, 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str) -> int:
        """Take a piece."""
        kept = text[: self.room]
        if kept:
            self.parts.append(str(kept))
        self.room -= len(kept)
        self.dropped += len(text) - len(kept)
        return len(text)


def execute(code: str, space: dict[str, Any]) -> dict[str, Any]:
    """Run code; the value of a last expression is shown, as an interactive interpreter would."""
    printed, error = Kept(), None
    sys.stdout = sys.stderr = printed
    try:
        tree = ast.parse(code, SOURCE)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, SOURCE, "exec"), space)  # noqa: S102 - what this program is for, inside the sandbox
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), SOURCE, "eval"), space)  # noqa: S307 - likewise
            if value is not None:
                printed.write(repr(value) + "\n")
    except BaseException as found:  # noqa: BLE001 - SystemExit and KeyboardInterrupt too: the session goes on
        error = told(found)
    finally:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return {"out": "".join(printed.parts), "dropped": printed.dropped, "error": error}


def told(error: BaseException) -> str:
    """The traceback without the frames of this program; the end of it, where it is long."""
    try:
        frame = error.__traceback__
        while frame is not None and frame.tb_frame.f_code.co_filename != SOURCE:
            frame = frame.tb_next
        return "".join(traceback.format_exception(type(error), error, frame, limit=-20))[-TRACE:]
    except BaseException:  # noqa: BLE001 - an exception whose own methods raise
        return type(error).__name__


def main() -> None:
    """Serve one episode."""
    random.seed(int(os.environ["EPISODE_SEED"]))
    sys.path.append(os.getcwd())  # noqa: PTH109 - last: files of the episode shadow no module that this program needs
    space = {"__name__": "__main__", "__builtins__": builtins}
    serve(lambda message: execute(message["code"], space))


if __name__ == "__main__":
    main()
