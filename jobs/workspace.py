"""A workspace: the directory with ``conf/``, ``dvc.yaml``, the lake, hand-off runs and policies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jobs.publish.repository import lay_repository
from schemas.errors import NotAWorkspaceError, VerilakeError

_CONF = "# Settings of this workspace; keys not named here keep their default (`verilake conf` prints all that is in force).\n"


class RemoteWorkspaceError(VerilakeError):
    """A workspace on a store for which commits are not safe."""

    exit_code = 2

    @classmethod
    def from_uri(cls, uri: str) -> RemoteWorkspaceError:
        """The path carries a URI scheme."""
        return cls(
            f"{uri}: object stores are not supported yet: Delta commits from Spark need a conditional put there. "
            "Use a local or shared file system that every node mounts under the same path."
        )


@dataclass(frozen=True)
class Workspace:
    """Paths of one workspace; nothing is read or written by constructing it."""

    root: Path

    @classmethod
    def open(cls, root: str | Path) -> Workspace:
        """The workspace at ``root``.

        Raises:
            RemoteWorkspaceError: ``root`` is a URI of an object store.
            NotAWorkspaceError: the directory holds none.
        """
        workspace = cls(_local(root))
        if not workspace.conf_file.is_file():
            raise NotAWorkspaceError.from_path(str(root))
        return workspace

    @classmethod
    def init(cls, root: str | Path) -> Workspace:
        """Lay a workspace with git and DVC of its own; what exists already is left as it is."""
        workspace = cls(_local(root))
        workspace.conf_file.parent.mkdir(parents=True, exist_ok=True)
        if not workspace.conf_file.exists():
            workspace.conf_file.write_text(_CONF, "utf-8")
        lay_repository(workspace.root)
        for folder in (workspace.lake_root, workspace.handoff_root, workspace.policies_root, workspace.locks_root):
            folder.mkdir(exist_ok=True)
        return workspace

    @property
    def conf_file(self) -> Path:
        """This workspace's own settings."""
        return self.root / "conf" / "verilake.toml"

    @property
    def lake_root(self) -> Path:
        """Delta tables lie below it, ``layer/table``."""
        return self.root / "lake"

    @property
    def handoff_root(self) -> Path:
        """Hand-off runs lie below it, ``program/run=<run_id>``."""
        return self.root / "handoff"

    @property
    def policies_root(self) -> Path:
        """Policy checkpoints, one directory each."""
        return self.root / "policies"

    @property
    def datasets_root(self) -> Path:
        """Published sets, one directory each."""
        return self.root / "datasets"

    @property
    def pins_root(self) -> Path:
        """Pins, ``round-<n>.json``."""
        return self.root / "pins"

    @property
    def locks_root(self) -> Path:
        """Lock files of jobs and tables."""
        return self.root / ".locks"


def _local(root: str | Path) -> Path:
    text = str(root)
    if "://" in text and not text.startswith("file://"):
        raise RemoteWorkspaceError.from_uri(text)
    return Path(text.removeprefix("file://")).expanduser().resolve()
