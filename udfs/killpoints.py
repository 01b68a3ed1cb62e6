"""Named instants at which a test lets a process die. For tests alone: nothing happens unless ``VERILAKE_KILL_AT`` is set.

``VERILAKE_KILL_AT=part_flushed`` makes the process send itself SIGKILL when it reaches that instant for the first time,
``part_flushed:3`` when it does so for the third. SIGKILL cannot be caught, so that no handler, ``finally`` or ``atexit``
tidies up: what the test then finds is what a power cut or a preemption would have left.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "VERILAKE_KILL_AT"

_reached: dict[str, int] = {}


def reach(name: str) -> None:
    """Mark the instant ``name``; die here if the environment says so."""
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    at, _, ordinal = wanted.partition(":")
    if at != name:
        return
    _reached[name] = _reached.get(name, 0) + 1
    if _reached[name] == int(ordinal or 1):
        os.kill(os.getpid(), signal.SIGKILL)
