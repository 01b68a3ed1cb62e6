"""Landlock: which files a process and its children may touch, without root and without namespaces (Linux 5.13 and newer).

Numbers and structures are those of ``linux/landlock.h``.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

from udfs.sandbox.kernel import LANDLOCK_ADD_RULE, LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF, syscall

_VERSION = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL_DEV = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
#: Devices, sockets and links to elsewhere are never made: MAKE_CHAR, MAKE_SOCK, MAKE_BLOCK are missing here on purpose.
_MAKE = _WRITE_FILE | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 12 | 1 << 13 | _TRUNCATE
_TCP_BIND_AND_CONNECT = 0b11
_SCOPE_ABSTRACT_AND_SIGNAL = 0b11
#: ABI -> rights on files that it knows.
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """Version of Landlock here; 0 where there is none."""
    try:
        return syscall(LANDLOCK_CREATE_RULESET, 0, 0, _VERSION)
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """Leave this process and its children nothing but these paths; ``no_new_privs`` must be set. Raises OSError.

    From ABI 4 on also no TCP, from 6 on no signals and no abstract sockets to processes outside.
    """
    version = abi()
    known = _FILE_RIGHTS.get(version, _FILE_RIGHTS[5])
    rules = _Ruleset(known, _TCP_BIND_AND_CONNECT if version >= 4 else 0, _SCOPE_ABSTRACT_AND_SIGNAL if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(rules), size, 0)
    try:
        for paths, rights in ((readable, _READ), (writable, _READ | _MAKE), (devices, _READ_FILE | _WRITE_FILE)):
            for path in paths:
                _allow(ruleset, path, rights & known)
        syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):  # what cannot be reached needs no leave
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _ON_FILES
        rule = _PathBeneath(rights, fd)
        syscall(LANDLOCK_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
    finally:
        os.close(fd)
