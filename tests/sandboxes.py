"""Sandboxes of the tests: one of each tier, probed once a process, and programs that report what they found."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import pytest

from udfs.sandbox.sandbox import Sandbox, SandboxUnavailableError
from udfs.sandbox.spec import ISOLATED, Job, Limits, Outcome, Tier

REPORT = "import os, json\ndef report(value): os.write(int(os.environ['RESULT_FD']), json.dumps(value).encode())\n"
#: Prelude of programs that try what they must not: ``attempt`` an action, ``call`` the kernel by number.
TRY = """
import errno, socket, ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True) if __import__('importlib.util').util.find_spec('_ctypes') else None
def attempt(action):
    try:
        return ['done', repr(action())[:200]]
    except BaseException as error:
        return ['failed', type(error).__name__, getattr(error, 'errno', None)]
def call(number, *arguments):
    value = libc.syscall(number, *arguments)
    return ['done', value] if value >= 0 else ['failed', errno.errorcode[ctypes.get_errno()]]
"""
QUICK = Limits(wall=20.0, cpu=10.0, memory=256 << 20)


@functools.cache
def _probed(tier: Tier) -> Sandbox | str:
    try:
        return Sandbox.probe(tiers=(tier,))
    except SandboxUnavailableError as error:
        return str(error)


def of_tier(tier: Tier) -> Sandbox:
    """The sandbox of this tier; the test skips where it cannot be had, and says why."""
    found = _probed(tier)
    if isinstance(found, str):
        pytest.skip(f"no tier {tier} here: {found.partition('What was tried: ')[2]}")
    return found


def run(sandbox: Sandbox, code: str, limits: Limits = QUICK, **more: object) -> Outcome:
    """Run Python code that may call ``report(value)`` once."""
    return sandbox.run(Job((*ISOLATED, "-c", REPORT + code), limits=limits, results=True, **more))


def reported(sandbox: Sandbox, code: str, limits: Limits = QUICK, **more: object) -> object:
    """What the code reported; it must have ended well."""
    outcome = run(sandbox, code, limits, **more)
    assert outcome.status == "ok", outcome
    return json.loads(outcome.result)


def descendants(pid: int | None = None) -> set[int]:
    """Process ids of everything below a process (this one by default), zombies too."""
    parents = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names alone
        if entry.isdigit():
            try:
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, new = set(), {pid or os.getpid()}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found
