"""The tree that programs see, laid once: in the launcher's own mount namespace, in memory, where it ends with the launcher.

Nothing of it is visible from outside, and nothing is left on a disk however the launcher dies. Where no mount namespace can be had, there
is no tree, and boxes (see :mod:`udfs.sandbox.box`) lie in a temporary folder instead.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from udfs.sandbox import kernel

#: Folders of the system that are shown, where they are there: programs, libraries, time zones, the loader's cache.
SYSTEM = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share/zoneinfo", "/etc/alternatives", "/etc/ld.so.cache",
    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
)  # fmt: skip
#: Where packages of the system's own interpreters lie: covered by an empty folder.
PACKAGES = ("site-packages", "dist-packages")
#: Where the tree is mounted: any folder that is there; only the launcher sees it covered.
PLACES = ("/mnt", "/tmp")  # noqa: S108 - covered, not written
USER = 65534
_PASSWD = f"nobody:x:{USER}:{USER}:nobody:/box:/bin/sh\n"


def private_namespace(*, trial: bool = False) -> None:
    """Enter a mount namespace of our own, by a user namespace where we are not root; raises OSError.

    A trial also mounts: there are machines that give the namespace and then refuse everything in it.
    """
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0:
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    else:
        kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    if trial:
        kernel.mount("trial", str(_place()), "tmpfs")


def lay(shown: Sequence[tuple[str, str]]) -> Path:
    """Build the tree; returns the folder that holds ``root`` (what programs see) and the boxes.

    Args:
        shown: further (path outside, path inside), files or folders.
    """
    pairs = [*((path, path) for path in SYSTEM if os.path.exists(path)), *shown]  # noqa: PTH110 - hundreds of milliseconds matter little, imports do
    # Opened before the tree covers the place where they may lie.
    sources = [(os.open(source, os.O_PATH | os.O_CLOEXEC), source, target) for source, target in pairs]
    place = _place()
    kernel.mount("verilake", str(place), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755,size=16m")
    root, empty = place / "root", place / "empty"
    for folder in (root, empty, *(root / name for name in ("proc", "dev", "tmp", "box", "etc"))):
        folder.mkdir(mode=0o755)
    (root / "etc/passwd").write_text(_PASSWD)
    (root / "etc/group").write_text(f"nogroup:x:{USER}:\n")
    for fd, source, target in sources:
        _show(fd, source, root / target.lstrip("/"))
        os.close(fd)
    asked = {inside for _, inside in shown}
    for folder in _package_folders(root):
        if not any(str(inside).startswith("/" + str(folder.relative_to(root))) for inside in asked):
            kernel.mount(str(empty), str(folder), flags=kernel.MS_BIND)
    return place


def _place() -> Path:
    return Path(next(place for place in PLACES if Path(place).is_dir()))


def _show(fd: int, source: str, target: Path) -> None:
    """Bind one path; a link of the system (``/bin`` -> ``usr/bin``) stays a link."""
    if Path(source).is_symlink() and str(target).endswith(source):
        target.symlink_to(Path(source).readlink())
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.isdir(f"/proc/self/fd/{fd}"):  # noqa: PTH112 - a magic link
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    kernel.mount(f"/proc/self/fd/{fd}", str(target), flags=kernel.MS_BIND | kernel.MS_REC)


def _package_folders(root: Path) -> list[Path]:
    return [
        folder
        for base in ("usr/lib", "usr/lib64", "opt/python/lib")
        for name in PACKAGES
        for folder in (root / base).glob(f"python3*/{name}")
        if folder.is_dir()
    ]
