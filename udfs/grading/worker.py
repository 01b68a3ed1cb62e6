"""The process that asks math-verify: one question a line on stdin, one answer a line on stdout, in its main thread.

Run by ``udfs.grading.pool`` as ``python -m udfs.grading.worker``. SymPy objects stay in here: their text or hash may never end, so that
only plain values cross. Limits: CPU seconds of a question (a timer that counts work, so that a busy machine blames nobody), math-verify's
own alarms (wall, main thread only), RLIMIT_CPU and RLIMIT_AS for what no handler reaches, and the parent's kill.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

#: CPU seconds of one question, after which its step is given up; the kernel ends what does not heed that so many seconds later.
CPU_SECONDS = 2.0
CPU_GRACE = 4
#: Wall seconds of math-verify's alarms for one step: reached before the CPU limit only where the machine is busy.
STEP_SECONDS = 20
#: Address space of the process, bytes.
MEMORY = 2 << 30
_GOLDS = 256


class _GoneError(BaseException):
    """The question used up its CPU seconds or its memory. No Exception: libraries that catch all of them must not catch this."""


def _expire(_signal: int, _frame: object) -> None:
    raise _GoneError


def _timed(step: Callable[[], Any]) -> Any:
    """A step under math-verify's alarm: TimeoutError where that came first."""
    from math_verify.errors import TimeoutException  # type: ignore[import-untyped] # it ships no types

    try:
        return step()
    except (MemoryError, RecursionError):
        raise _GoneError from None
    except TimeoutException:
        raise TimeoutError from None


def _read(text: str) -> list[Any]:
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse  # type: ignore[import-untyped] # likewise

    given = text if "$" in text else f"${text}$"
    config = (LatexExtractionConfig(), ExprExtractionConfig())
    found = _timed(
        lambda: parse(
            given, config, fallback_mode="no_fallback", extraction_mode="first_match", parsing_timeout=STEP_SECONDS, raise_on_error=True
        )
    )
    return list(found)


def _verify(left: list[Any], right: list[Any]) -> bool:
    from math_verify import verify

    return bool(_timed(lambda: verify(left, right, timeout_seconds=STEP_SECONDS, raise_on_error=True)))


def _attempt(step: Callable[[], Any], default: Any) -> Any:
    """A step whose own errors (a formula that cannot be read or compared) mean ``default``."""
    try:
        return step()
    except TimeoutError:
        raise
    except Exception:  # noqa: BLE001 - SymPy raises whatever it likes
        return default


def _answer(question: dict[str, str], golds: dict[str, list[Any]], say: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Stages as plain values: what was read, both directions, and which step did not end."""
    stage = "gold"
    # Repeated, because a bare except somewhere may swallow the first.
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS, 0.5)
    try:
        gold = golds.get(question["gold"])
        if gold is None:
            gold = _attempt(lambda: _read(question["gold"]), [])
            if len(golds) >= _GOLDS:
                golds.clear()
            golds[question["gold"]] = gold
        if not gold:
            return {"gold": False}
        say({"stage": "answer"})
        stage = "answer"
        answer = _attempt(lambda: _read(question["answer"]), [])
        if not answer:
            return {"gold": True, "answer": False}
        forward = _attempt(lambda: _verify(gold, answer), False)
        backward = _attempt(lambda: _verify(answer, gold), False)
    except _GoneError:
        return {"gone": stage}
    except TimeoutError:
        return {"busy": stage}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"gold": True, "answer": True, "forward": forward, "backward": backward}


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def main() -> None:
    """Serve questions until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.signal(signal.SIGPROF, _expire)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing that a library prints gets between the answers
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    import math_verify

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    golds: dict[str, list[Any]] = {}

    def say(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")

    say({"ready": math_verify.__name__})
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    for line in sys.stdin:
        limit = int(time.process_time() + CPU_SECONDS) + CPU_GRACE
        resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
        say({"done": _answer(json.loads(line), golds, say)})


if __name__ == "__main__":
    main()
