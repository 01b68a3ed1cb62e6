"""Lays git and DVC in a workspace: a repository of its own, also inside another one; what exists is left as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import jobs
from jobs.files import put
from jobs.publish.history import History

#: What a workspace keeps out of git: data, and what can be made again.
IGNORED = (
    "/lake/", "/handoff/", "/policies/", "/.locks/", "/datasets/", "/.publish/", "/reports/", "/mlflow.db*", "/mlartifacts/", "/mlruns/",
)  # fmt: skip
#: What DVC's own `init` would lay, with its reports home switched off and its links in the order in which they cost least.
_DVC = {
    ".dvc/config": '[core]\n    analytics = false\n    check_update = false\n    autostage = false\n[cache]\n    type = "reflink,hardlink,copy"\n',
    ".dvc/.gitignore": "/config.local\n/tmp\n/cache\n",
    ".dvcignore": "# DVC looks for stages everywhere else.\n/lake/\n/handoff/\n/policies/\n/.publish/\n/mlartifacts/\n/reports/\n",
}
#: Files of a workspace that its git holds beside pins and lock.
LAID = (".gitignore", "dvc.yaml", "conf/verilake.toml", *_DVC)


def lay_files(root: Path) -> None:
    """Lay dvc.yaml, .gitignore and DVC's settings; a .gitignore of an earlier version gets the lines that it lacks."""
    for name, text in {"dvc.yaml": stage_file(), **_DVC}.items():
        if not (root / name).exists():
            put(root / name, text.encode())
    path = root / ".gitignore"
    held = path.read_text("utf-8") if path.exists() else ""
    lacking = [line for line in IGNORED if line not in held.splitlines()]
    if lacking:
        joined = held if not held or held.endswith("\n") else held + "\n"
        put(path, (joined + "".join(f"{line}\n" for line in lacking)).encode())


def lay_repository(root: Path) -> None:
    """Files and the git repository; where git is missing, `publish` will say so: nothing before it needs one.

    Raises:
        HistoryError: git refuses.
    """
    lay_files(root)
    history = History(root)
    if not history.exists() and shutil.which("git") is not None:
        history.git("init", "--quiet", "--initial-branch=main")


def stage_file() -> str:
    """dvc.yaml of this code, from a checkout or from inside the zip."""
    # A loader finds a neighbour of the package by path, in a zip too; importlib.resources does not leave a package.
    path = Path(str(jobs.__file__)).parent.parent / "dvc.yaml"
    loader = jobs.__spec__.loader if jobs.__spec__ is not None else None
    data: bytes = loader.get_data(str(path)) if loader is not None and hasattr(loader, "get_data") else path.read_bytes()
    return data.decode("utf-8")
