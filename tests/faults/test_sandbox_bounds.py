"""Programs that take what they can get: disk, descriptors, processes, memory (the list of G§4)."""

from __future__ import annotations

import json
import os

import pytest

from tests.sandboxes import TRY, of_tier, reported, run
from udfs.sandbox.sandbox import Sandbox
from udfs.sandbox.spec import Limits

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("place", ["filled", "/tmp/filled", "/dev/shm/filled"])  # noqa: S108 - the sandbox's own
def test_disk_is_bounded(strong: Sandbox, place: str):
    code = f"""
size = 0
def fill():
    global size
    for number in range(1000):
        with open('{place}' + str(number), 'wb') as file:
            size += file.write(b'x' * (1 << 20))
report([attempt(fill), size])"""
    (kind, _, number), size = reported(strong, TRY + code, Limits(disk=8 << 20, wall=20))
    assert (kind, number) == ("failed", 28)  # ENOSPC
    assert 4 << 20 <= size <= 9 << 20


def test_empty_files_are_bounded(strong: Sandbox):
    code = """
def fill():
    for number in range(10**6): open(str(number), 'w').close()
report([attempt(fill), len(os.listdir('.'))])"""
    (kind, _, number), count = reported(strong, TRY + code, Limits(disk=8 << 20, wall=60, cpu=60))
    assert (kind, number) == ("failed", 28)
    assert count <= 64 + (8 << 20) // 4096


def test_one_file_is_bounded(any_tier: Sandbox):
    code = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nf = open('big', 'wb', 0)\nreport([attempt(lambda: [f.write(b'x' * 4096) for _ in range(1000)]), f.tell()])"
    (kind, _, number), size = reported(any_tier, TRY + code, Limits(file_size=100_000, wall=20))
    assert (kind, number, size) == ("failed", 27, 100_000)  # EFBIG


def test_descriptors_are_bounded_and_none_is_inherited(any_tier: Sandbox):
    leak = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        code = """
report([sorted(fd for fd in range(1024) if attempt(lambda: os.fstat(fd))[0] == 'done'), attempt(lambda: [os.dup(0) for _ in range(500)])])"""
        open_fds, (kind, _, number) = reported(any_tier, TRY + code, Limits(open_files=40, wall=20))
    finally:
        os.close(leak)
    assert open_fds == [0, 1, 2, 3]
    assert (kind, number) == ("failed", 24)  # EMFILE


BOMBS = {
    "fork": "\nimport os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "fork that reports": "\nimport os\nn = 0\nwhile True:\n    try:\n        if os.fork() == 0:\n            while True: pass\n        n += 1\n    except OSError: break\nreport(n)",
    "threads": "\nimport threading, time\nn = 0\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(99,), daemon=True).start(); n += 1\n    except RuntimeError: break\nreport(n); os._exit(0)",
    "vfork": "\nimport subprocess, sys\nn = 0\nkept = []\nwhile True:\n    try: kept.append(subprocess.Popen(['/usr/bin/sleep', '99'])); n += 1\n    except OSError: break\nreport(n); os._exit(0)",
}


@pytest.mark.parametrize("bomb", ["fork that reports", "threads", "vfork"])
def test_processes_are_bounded(confined: Sandbox, bomb: str):
    outcome = run(confined, BOMBS[bomb], Limits(pids=24, wall=30, memory=2 << 30, open_files=256))
    assert outcome.status == "ok", outcome
    assert 10 <= json.loads(outcome.result) <= 24


def test_a_fork_bomb_ends_with_its_run(confined: Sandbox):
    outcome = run(confined, BOMBS["fork"], Limits(pids=40, wall=1.0))
    assert outcome.status == "timeout_wall"
    assert outcome.wall < 15


MEMORY = {
    "one list": "x = [0] * (10 ** 10)",
    "touched": "x = bytearray(8 << 30); x[::4096] = b'1' * len(x[::4096])",
    "mmap": "import mmap; m = mmap.mmap(-1, 8 << 30)\nfor at in range(0, 8 << 30, 4096): m[at] = 1",
}


@pytest.mark.parametrize("name", MEMORY)
def test_memory_is_bounded(any_tier: Sandbox, name: str):
    outcome = run(any_tier, MEMORY[name], Limits(memory=200 << 20, wall=30))
    assert outcome.status in {"oom", "nonzero"}, outcome
    if any_tier.tier != "A":
        assert b"MemoryError" in outcome.stderr or b"Cannot allocate memory" in outcome.stderr
    assert outcome.max_rss <= 220 << 20


def test_memory_of_many_processes_is_bounded_together():
    code = """
import time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(50 << 20); x[::4096] = b'1' * len(x[::4096]); time.sleep(20); os._exit(0)
codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(8)]
raise SystemExit(1 if -9 in codes else 0)"""
    assert run(of_tier("A"), code, Limits(memory=200 << 20, wall=60)).status == "oom"


def test_files_in_memory_count_as_memory():
    code = "open('/tmp/x', 'wb').write(b'x' * (90 << 20)); y = bytearray(b'y') * (90 << 20)"
    outcome = run(of_tier("A"), code, Limits(memory=128 << 20, disk=100 << 20, file_size=100 << 20, wall=30))
    assert outcome.status == "oom"
