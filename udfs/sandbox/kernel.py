"""Calls into Linux that Python has no function for. Used by the launcher alone, which has one thread."""

from __future__ import annotations

import ctypes
import os
import platform
import signal

PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x1, 0x2, 0x4, 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2

#: Landlock's calls carry the same numbers on every architecture.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
CLOSE_RANGE = 436

MACHINE = platform.machine()
_libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> int:
    """``syscall(2)``; raises OSError."""
    wide = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    value = int(_libc.syscall(ctypes.c_long(number), *wide))
    if value < 0:
        raise _error(f"system call {number}")
    return value


def prctl(option: int, value: int = 0, pointer: object = None) -> None:
    """``prctl(2)``; raises OSError."""
    third = ctypes.c_ulong(0) if pointer is None else pointer
    if _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), third, ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
        raise _error(f"prctl {option}")


def unshare(flags: int) -> None:
    """``unshare(2)``; raises OSError."""
    if _libc.unshare(ctypes.c_int(flags)) != 0:
        raise _error("unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """``mount(2)``; raises OSError."""
    arguments = [ctypes.c_char_p(os.fsencode(part)) for part in (source, target, kind)]
    if _libc.mount(*arguments, ctypes.c_ulong(flags), ctypes.c_char_p(data.encode())) != 0:
        raise _error(f"mount on {target}")


def bind(source: str, target: str) -> None:
    """Show ``source`` at ``target``, read-only."""
    mount(source, target, flags=MS_BIND | MS_REC)
    mount("none", target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def unmount(target: str) -> None:
    """Detach what is mounted at ``target``; raises OSError."""
    if _libc.umount2(ctypes.c_char_p(os.fsencode(target)), ctypes.c_int(MNT_DETACH)) != 0:
        raise _error(f"umount {target}")


def die_with(parent: int) -> None:
    """Receive SIGKILL when the parent dies; at once where it is dead already."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def close_from(first: int) -> None:
    """Close every descriptor from ``first`` on."""
    try:
        syscall(CLOSE_RANGE, first, 0x7FFFFFFF, 0)
    except OSError:  # before Linux 5.9
        os.closerange(first, min(os.sysconf("SC_OPEN_MAX"), 1 << 16))


def _error(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")
