"""A seccomp filter: the system calls that no program in the sandbox needs, and through which kernels were broken out of.

Everything else is allowed: file access, processes and the network are bounded by namespaces or by Landlock. A refused call fails with
EPERM, so that a program can go on; calls of a foreign architecture (the 32-bit and x32 tables) end the program.

The numbers are those of ``asm/unistd_64.h`` (x86-64) and ``asm-generic/unistd.h`` (aarch64); from 424 on they are the same everywhere.
"""

from __future__ import annotations

import struct

#: name -> number on x86-64, number on aarch64 (None: not there).
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "migrate_pages": (256, 238), "move_pages": (279, 239), "process_mrelease": (448, 448),
    # mounts and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "open_tree_attr": (467, 467), "statmount": (457, 457), "listmount": (458, 458),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "swapon": (167, 224), "swapoff": (168, 225), "fanotify_init": (300, 262),
    # the kernel's own machinery
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "syslog": (103, 116),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162), "iopl": (172, None), "ioperm": (173, None), "vhangup": (153, 58),
    "lookup_dcookie": (212, 18), "uselib": (134, None), "modify_ldt": (154, None), "personality": (135, 92), "memfd_secret": (447, 447),
    "vmsplice": (278, 75),
}  # fmt: skip

#: Further calls refused where nothing but Landlock lies between the program and the machine (tier C).
OUTSIDE: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "ioprio_set": (251, 30),
    # what Landlock does not rule: attributes of files that the user owns
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "fchown": (93, 55), "lchown": (94, None),
    "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
}  # fmt: skip

#: Sending signals: refused where neither a PID namespace, an own user nor Landlock keeps them from others.
SIGNALS: dict[str, tuple[int | None, int | None]] = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}  # fmt: skip

_LOAD, _JUMP_EQ, _JUMP_GE, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE, _CLONE3, _SOCKET, _IOCTL, _PRLIMIT = (56, 220), (435, 435), (41, 198), (16, 29), (302, 261)
#: Calls that act on another process where their first argument names one.
_ON_OTHERS = ((203, 122), (144, 119), (142, 118), (314, 274), _PRLIMIT)  # sched_setaffinity, _setscheduler, _setparam, _setattr, prlimit64
_SETPRIORITY = (141, 140)
#: CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET} and CLONE_NEWTIME is only for unshare and clone3.
_NAMESPACES = 0x7E020000
_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6: in a network namespace of their own; AF_VSOCK and AF_NETLINK know no such bounds
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: input forged for a terminal (CVE-2017-5226)


def supported(machine: str) -> bool:
    """Whether the calls of this architecture are known here."""
    return machine in _ARCH


def program(machine: str, *, own_namespaces: bool, signals: bool = True) -> bytes:
    """The filter as an array of ``struct sock_filter``.

    Args:
        machine: as ``platform.machine()`` spells it.
        own_namespaces: whether network, IPC and processes are the program's own; else sockets and System V objects are refused too.
        signals: whether the program may send signals.
    """
    column = 0 if machine == "x86_64" else 1
    refused = {**NUMBERS, **({} if own_namespaces else OUTSIDE), **({} if signals else SIGNALS)}
    out = [_op(_LOAD, 4), _op(_JUMP_EQ, _ARCH[machine], 1, 0), _op(_RETURN, _KILL), _op(_LOAD, 0)]
    if machine == "x86_64":  # the x32 table carries bit 30
        out += [_op(_JUMP_GE, 0x40000000, 0, 1), _op(_RETURN, _KILL)]
    # glibc falls back to clone, whose flags lie in a register where this filter can see them.
    out += [_op(_JUMP_EQ, _CLONE3[column], 0, 1), _op(_RETURN, _ERRNO | _ENOSYS)]
    for pair in refused.values():
        if (number := pair[column]) is not None:
            out += [_op(_JUMP_EQ, number, 0, 1), _op(_RETURN, _ERRNO | _EPERM)]
    out += _argument(_CLONE[column], 0, [_op(_JUMP_SET, _NAMESPACES, 0, 1), _op(_RETURN, _ERRNO | _EPERM)])
    for pair in _ON_OTHERS:
        out += _argument(pair[column], 0, [_op(_JUMP_EQ, 0, 1, 0), _op(_RETURN, _ERRNO | _EPERM)])
    out += _argument(_SETPRIORITY[column], 1, [_op(_JUMP_EQ, 0, 1, 0), _op(_RETURN, _ERRNO | _EPERM)])
    out += _argument(_IOCTL[column], 1, [part for code in _TERMINAL for part in (_op(_JUMP_EQ, code, 0, 1), _op(_RETURN, _ERRNO | _EPERM))])
    families = [_op(_JUMP_EQ, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    out += _argument(_SOCKET[column], 0, [*families, _op(_RETURN, _ERRNO | _EAFNOSUPPORT)])
    out.append(_op(_RETURN, _ALLOW))
    return b"".join(out)


def _argument(number: int, index: int, body: list[bytes]) -> list[bytes]:
    """Where the call is ``number``: load the low half of an argument, run ``body``, then allow."""
    inner = [_op(_LOAD, 16 + 8 * index), *body, _op(_RETURN, _ALLOW)]
    return [_op(_JUMP_EQ, number, 0, len(inner)), *inner]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
