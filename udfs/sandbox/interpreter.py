"""The interpreter that a program sees: this one, with its standard library and nothing that was installed beside it."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: Where it lies inside, whatever its place outside: the same everywhere, and no path of this machine is told.
INSIDE = "/opt/python"
#: Installed packages; not shown and not part of the fingerprint.
HIDDEN = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Where the interpreter lies outside, and what of it is shown.

    Attributes:
        executable: the binary.
        library: folder of the standard library, ``.../lib/python3.x``.
    """

    executable: Path
    library: Path

    @property
    def in_system(self) -> bool:
        """Whether it is the system's own, which is shown with the rest of /usr."""
        return self.executable.parent == Path("/usr/bin")

    @property
    def inside(self) -> str:
        """Path of the binary inside the sandbox."""
        return str(self.executable) if self.in_system else f"{INSIDE}/bin/{self.library.name}"

    @property
    def shared(self) -> list[Path]:
        """Libraries that the binary links to and that are not the system's (an interpreter built with ``--enable-shared``)."""
        return [] if self.in_system else sorted(self.library.parent.glob("libpython*.so.*"))

    def shown(self) -> list[tuple[str, str]]:
        """(path outside, path inside) of all that the interpreter needs beside the system's libraries."""
        if self.in_system:
            return []
        parts = [(str(self.executable), self.inside)]
        if (self.library.parents[1] / "conda-meta").is_dir():  # its extension modules link to further libraries in the same folder
            return [*parts, (str(self.library.parent), f"{INSIDE}/lib")]
        parts.append((str(self.library), f"{INSIDE}/lib/{self.library.name}"))
        return parts + [(str(path.resolve()), f"{INSIDE}/lib/{path.name}") for path in self.shared]

    def environment(self) -> dict[str, str]:
        """Variables that it needs to start inside."""
        return {"LD_LIBRARY_PATH": f"{INSIDE}/lib"} if self.shared else {}


@cache
def this_interpreter() -> Interpreter:
    """The interpreter that runs this process, without its virtual environment."""
    return Interpreter(Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib")).resolve())


@cache
def fingerprint() -> dict[str, str]:
    """What a program's behaviour may hang on.

    Returns:
        ``interpreter``: implementation and version. ``packages``: SHA-256 over path and content of everything that can be imported inside.
        The system's C library is part of ``interpreter``, since mathematics and locale come from it.
    """
    libc = "-".join(platform.libc_ver())
    named = f"{platform.python_implementation()} {platform.python_version()} {platform.machine()} {libc}"
    return {"interpreter": named, "packages": _digest(this_interpreter().library)}


def _digest(library: Path) -> str:
    total = hashlib.sha256()
    for folder, folders, names in os.walk(library):
        folders[:] = sorted(name for name in folders if name not in {*HIDDEN, "__pycache__"})
        for name in sorted(names):
            if name.endswith((".py", ".so")):
                path = Path(folder) / name
                total.update(f"{path.relative_to(library)}\0".encode())
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
