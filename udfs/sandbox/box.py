"""The folder that a program may write: laid before it starts, read back when it is gone, bounded in bytes and files."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

from udfs.sandbox import kernel

PARTS = ("box", "tmp", "shm")


class Box:
    """Working directory, /tmp and /dev/shm of one run, in one bounded file system in memory where that can be mounted.

    Attributes:
        path: folder that holds the three.
        mounted: whether it is a file system of its own; else nothing bounds it but the size of one file.
    """

    def __init__(self, path: Path, owner: tuple[int, int] | None, disk: int, *, mounted: bool) -> None:
        self.path, self.mounted, self._owner = path, mounted, owner
        path.mkdir(mode=0o711)
        if mounted:
            # Rounded up to pages by the kernel; files without content cost memory too, so that their number is bounded.
            kernel.mount(
                "box", str(path), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"mode=0711,size={disk},nr_inodes={64 + disk // 4096}"
            )
        for name in PARTS:
            (path / name).mkdir(mode=0o700)
            self._give(path / name)

    def lay(self, name: str, content: bytes) -> None:
        """Write one file below the working directory; raises OSError. ``name`` was checked by the caller."""
        at = self.path / "box"
        *folders, last = name.split("/")
        for part in folders:
            at /= part
            if not at.is_dir():
                at.mkdir(mode=0o755)
                self._give(at)
        (at / last).write_bytes(content)
        self._give(at / last)

    def read(self, name: str, room: int) -> bytes | None:
        """A file of the working directory, if it is a plain file of at most ``room`` bytes reached through no link; else None."""
        folder = os.open(self.path / "box", os.O_PATH | os.O_DIRECTORY)
        try:
            *folders, last = name.split("/")
            for part in folders:
                inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            # Non-blocking: a FIFO would wait for its writer.
            fd = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=folder)
        except OSError:
            return None
        finally:
            os.close(folder)
        try:
            found = os.fstat(fd)
            # A second name may be of a file that the program could not read by itself.
            if not stat.S_ISREG(found.st_mode) or found.st_size > room or found.st_nlink > 1:
                return None
            with open(fd, "rb", closefd=False) as file:
                return file.read(room)
        except OSError:
            return None
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Take everything away."""
        remove(self.path, mounted=self.mounted)

    def _give(self, path: Path) -> None:
        if self._owner is not None:
            os.chown(path, *self._owner, follow_symlinks=False)


def remove(path: Path, *, mounted: bool) -> None:
    """Take a box away; what cannot be taken away ends with the launcher."""
    if mounted:
        with contextlib.suppress(OSError):
            kernel.unmount(str(path))
        with contextlib.suppress(OSError):
            path.rmdir()
        return
    for folder, folders, _ in os.walk(path):
        for name in folders:  # a program may have locked us out of its own folders
            if not (inner := Path(folder) / name).is_symlink():
                with contextlib.suppress(OSError):
                    inner.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
