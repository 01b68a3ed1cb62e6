"""Parts of the sandbox by themselves: the filter, the groups' paths, the interpreter's fingerprint, orders on their way."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import pytest

from udfs.sandbox import cgroup
from udfs.sandbox import filter as seccomp
from udfs.sandbox.interpreter import Interpreter, fingerprint, this_interpreter
from udfs.sandbox.order import Ending, Order, pack, unpack_ending, unpack_order

ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "/usr/include/asm-generic/unistd.h"}


def decide(code: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the filter answers: the few instructions of classic BPF that it uses, as linux/filter.h defines them."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    program = list(struct.iter_unpack("=HBBI", code))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, value = program[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif operation == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[operation]
            at += if_true if holds else if_false


ALLOW, KILL, EPERM, ENOSYS, EAFNOSUPPORT = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026, 0x00050061
CALLS = [
    # (x86-64, aarch64), arguments, answer in a namespace, answer in tier C
    ((0, 63), (), ALLOW, ALLOW),  # read
    ((101, 117), (), EPERM, EPERM),  # ptrace
    ((435, 435), (), ENOSYS, ENOSYS),  # clone3
    ((56, 220), (17,), ALLOW, ALLOW),  # clone as fork
    ((56, 220), (0x003D0F00,), ALLOW, ALLOW),  # clone as a thread of glibc
    ((56, 220), (0x10000000 | 17,), EPERM, EPERM),  # a user namespace
    ((56, 220), (0x00020000 | 17,), EPERM, EPERM),  # a mount namespace
    ((41, 198), (1, 1, 0), ALLOW, EPERM),  # AF_UNIX
    ((41, 198), (2, 1, 0), ALLOW, EPERM),  # AF_INET
    ((41, 198), (10, 1, 0), ALLOW, EPERM),  # AF_INET6
    ((41, 198), (16, 3, 0), EAFNOSUPPORT, EPERM),  # AF_NETLINK
    ((41, 198), (40, 1, 0), EAFNOSUPPORT, EPERM),  # AF_VSOCK
    ((16, 29), (0, 0x5401), ALLOW, ALLOW),  # TCGETS
    ((16, 29), (0, 0x5412), EPERM, EPERM),  # TIOCSTI
    ((302, 261), (0, 7), ALLOW, ALLOW),  # prlimit of itself
    ((302, 261), (1234, 7), EPERM, EPERM),  # of another
    ((141, 140), (0, 0, 5), ALLOW, ALLOW),  # nice
    ((141, 140), (0, 1234, 5), EPERM, EPERM),
    ((268, 53), (), ALLOW, EPERM),  # fchmodat
]


@pytest.mark.parametrize("machine", ARCH)
def test_filter(machine: str):
    column, arch = list(ARCH).index(machine), ARCH[machine]
    inside, outside = (seccomp.program(machine, own_namespaces=own) for own in (True, False))
    for numbers, arguments, within, confined in CALLS:
        assert decide(inside, arch, numbers[column], *arguments) == within, (numbers, arguments)
        assert decide(outside, arch, numbers[column], *arguments) == confined, (numbers, arguments)
    for other in {0x40000003, *ARCH.values()} - {arch}:  # i386, and each other
        assert decide(inside, other, 0) == KILL
    assert decide(seccomp.program(machine, own_namespaces=False, signals=False), arch, (62, 129)[column]) == EPERM
    assert decide(outside, arch, (62, 129)[column]) == ALLOW
    assert len(inside) // 8 < 4096  # BPF_MAXINSNS


def test_the_other_table_of_x86_ends_the_program():
    assert decide(seccomp.program("x86_64", own_namespaces=True), ARCH["x86_64"], 0x40000000 | 1) == KILL


@pytest.mark.parametrize("machine", ARCH)
def test_numbers_are_those_of_the_headers(machine: str):
    path = Path(HEADERS[machine])
    if not path.exists():
        pytest.skip(f"no {path} here")
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text())}
    ours = {**seccomp.NUMBERS, **seccomp.OUTSIDE, **seccomp.SIGNALS}
    compared = {name: pair[list(ARCH).index(machine)] for name, pair in ours.items() if name in known}
    assert len(compared) > 60
    assert compared == {name: known[name] for name in compared}


@pytest.mark.parametrize(
    ("path", "root", "below"),
    [("/a/b", "/", "/a/b"), ("/", "/", ""), ("/a/b", "/a", "/b"), ("/a", "/a", ""), ("/ab", "/a", None), ("/", "/a", None)],
)
def test_groups_below_the_mounted_root(path: str, root: str, below: str | None):
    assert cgroup._below(path, root) == below


def test_fingerprint_is_of_content(tmp_path: Path):
    from udfs.sandbox.interpreter import _digest

    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.py").write_text("1")
    first = _digest(tmp_path)
    for name in ("site-packages/numpy.py", "a/__pycache__/x.pyc", "a/notes.txt"):  # cannot be imported inside
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("2")
    assert _digest(tmp_path) == first
    (tmp_path / "a/x.py").write_text("2")
    assert _digest(tmp_path) != first
    (tmp_path / "a/x.py").rename(tmp_path / "a/y.py")
    assert _digest(tmp_path) != first


def test_fingerprint_of_this_interpreter():
    found = fingerprint()
    assert found["interpreter"].startswith("CPython 3.")
    assert re.fullmatch("[0-9a-f]{64}", found["packages"])


def test_what_of_an_interpreter_is_shown(tmp_path: Path):
    library = tmp_path / "lib/python3.12"
    library.mkdir(parents=True)
    own = Interpreter(tmp_path / "bin/python3.12", library)
    assert own.shown() == [(str(tmp_path / "bin/python3.12"), "/opt/python/bin/python3.12"), (str(library), "/opt/python/lib/python3.12")]
    assert own.environment() == {}
    (tmp_path / "lib/libpython3.12.so.1.0").touch()
    assert own.shown()[-1] == (str(tmp_path / "lib/libpython3.12.so.1.0"), "/opt/python/lib/libpython3.12.so.1.0")
    assert own.environment() == {"LD_LIBRARY_PATH": "/opt/python/lib"}
    (tmp_path / "conda-meta").mkdir()
    assert own.shown()[-1] == (str(tmp_path / "lib"), "/opt/python/lib")
    system = Interpreter(Path("/usr/bin/python3.11"), Path("/usr/lib/python3.11"))
    assert (system.shown(), system.inside) == ([], "/usr/bin/python3.11")
    assert this_interpreter().executable.exists()


def test_orders_and_endings_arrive_as_they_were_sent():
    order = Order("B", ["a", "\udcff"], {"K": "ü"}, 1.5, 2, 3, 4, 5, 6, 7.0, True, False, ["k"], 8, [("x", 3), ("y", 0), ("z", 256)])
    contents = [b"abc", b"", bytes(range(256))]
    fd = pack(order, contents)
    received, files = unpack_order(fd)
    received.files = [tuple(pair) for pair in received.files]
    assert (received, files) == (order, contents)
    with pytest.raises(PermissionError):  # sealed
        os.pwrite(fd, b"x", 0)
    os.close(fd)
    fd = pack(Ending(returncode=3, cpu=0.5, kept=[("k", 2)]), [b"hi"])
    assert unpack_ending(fd)[1] == {"k": b"hi"}
    os.close(fd)
