"""One running program: started, watched, killed, waited for."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from udfs.sandbox.spec import PYTHON, Job


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended, as far as the operating system knows."""

    returncode: int | None = None
    signal: int | None = None
    cpu: float = 0.0
    max_rss: int = 0
    files: Mapping[str, bytes] = field(default_factory=dict)
    error: str | None = None


class Process:
    """A program in bubblewrap."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.ending: Ending | None = None
        self._box = Path(tempfile.mkdtemp(prefix="verilake-box-"))
        for name, content in job.files.items():
            path = self._box / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        out, err, result, request = os.pipe(), os.pipe(), os.pipe() if job.results else None, os.pipe() if job.requests else None
        self.pipes = (out[0], err[0], result[0] if result else None, request[1] if request else None)
        inner = [fd for fd in (result[1] if result else None, request[0] if request else None) if fd is not None]
        stdin = os.memfd_create("stdin")
        os.write(stdin, job.stdin)
        os.lseek(stdin, 0, 0)
        env = dict(job.env)
        if result:
            env["RESULT_FD"] = str(result[1])
        if request:
            env["REQUEST_FD"] = str(request[0])
        self._child = subprocess.Popen(_command(job, self._box, env), stdin=stdin, stdout=out[1], stderr=err[1], pass_fds=inner)
        for fd in (stdin, out[1], err[1], *inner):
            os.close(fd)
        self.fd = os.pidfd_open(self._child.pid)

    def news(self) -> bool:
        """True: it is over."""
        code = self._child.wait()
        code = code if code >= 0 else 128 - code
        kept = {name: (self._box / name).read_bytes() for name in self.job.keep_files if (self._box / name).is_file()}
        killed = code > 128
        self.ending = Ending(None if killed else code, code - 128 if killed else None, files=kept)
        return True

    def kill(self) -> None:
        """End everything."""
        self._child.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Remove what is left."""
        os.close(self.fd)
        shutil.rmtree(self._box, ignore_errors=True)


def _command(job: Job, box: Path, env: Mapping[str, str]) -> list[str]:
    base, limits = sys.base_prefix, job.limits
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    python = f"{sysconfig.get_config_var('BINDIR')}/{version}"
    variables = {"PATH": "/usr/bin:/bin", "HOME": "/box", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", "LD_LIBRARY_PATH": f"{base}/lib", **env}
    return [
        "prlimit", f"--as={limits.memory}", f"--cpu={int(limits.cpu) or 1}", f"--fsize={limits.file_size}", f"--nofile={limits.open_files}", "--core=0",
        "bwrap", "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--new-session", "--die-with-parent", "--cap-drop", "ALL", "--clearenv",
        "--ro-bind", "/usr/bin", "/usr/bin", "--ro-bind", "/usr/lib", "/usr/lib", "--ro-bind-try", "/usr/lib64", "/usr/lib64",
        "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
        "--ro-bind", f"{base}/lib", f"{base}/lib", "--ro-bind", python, python,
        "--proc", "/proc", "--dev", "/dev", "--size", str(limits.disk), "--tmpfs", "/tmp", "--bind", str(box), "/box", "--chdir", "/box",  # noqa: S108 - the sandbox's own
        *[part for name, value in variables.items() for part in ("--setenv", name, value)],
        "--", *[python if part == PYTHON else part for part in job.argv],
    ]  # fmt: skip
