"""git and DVC of a workspace, by fixed argument lists and without a shell; nothing of a surrounding repository leaks in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jobs.publish.errors import HistoryError, NotPublishedError

IDENTITY = ("verilake", "verilake@localhost")
TAG = re.compile(r"round-([1-9][0-9]{0,8})(?:\.([1-9][0-9]{0,8}))?", re.ASCII)
#: Line of a commit's message that says which publication it is and over which inputs.
TRAILER = "Verilake-Publication:"
_STATED = re.compile(rf"^{TRAILER} (\S+) ([0-9a-f]+)$", re.MULTILINE | re.ASCII)
#: No hook, signature or conversion of this machine changes what a publication is.
_SETTINGS = (
    "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false", "-c", "core.autocrlf=false", "-c", "core.quotePath=false",
    "-c", "gc.auto=0",
)  # fmt: skip
#: Who commits and how a remote is reached may come from the environment; where the repository lies may not.
_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


@dataclass(frozen=True)
class Published:
    """One publication: its tag, the commit, and the hash over its inputs that the commit names."""

    round_no: int
    attempt: int
    tag: str
    commit: str
    fingerprint: str


def tag_of(round_no: int, attempt: int) -> str:
    """``round-3``, and ``round-3.2`` for its second attempt."""
    return f"round-{round_no}" if attempt == 1 else f"round-{round_no}.{attempt}"


def environment(root: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what would lead git or DVC to another repository."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "DVC_")) or k.startswith(_KEPT)}
    return (
        kept
        | {"GIT_CEILING_DIRECTORIES": str(root.parent), "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "DVC_NO_ANALYTICS": "1"}
        | dict(extra or {})
    )


@dataclass(frozen=True)
class History:
    """The git repository and the DVC project at a workspace's root."""

    root: Path

    def git(self, *arguments: str, extra: Mapping[str, str] | None = None, settings: Sequence[str] = (), given: bytes = b"") -> bytes:
        """What a git command wrote.

        Raises:
            HistoryError: git is missing or the command failed.
        """
        if shutil.which("git") is None:
            raise HistoryError.from_missing_git()
        done = subprocess.run(
            ["git", *_SETTINGS, *settings, *arguments],
            cwd=self.root,
            env=environment(self.root, extra),
            input=given,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise HistoryError.from_command(f"git {arguments[0]} in {self.root}", done.returncode, done.stderr.decode("utf-8", "replace"))
        return done.stdout

    def dvc(self, *arguments: str) -> None:
        """Run a DVC command; its bar and its chatter are left out.

        Raises:
            HistoryError: the command failed.
        """
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *arguments],
            cwd=self.root,
            env=environment(self.root),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise HistoryError.from_command(f"dvc {arguments[0]} in {self.root}", done.returncode, done.stderr.decode("utf-8", "replace"))

    def exists(self) -> bool:
        """Whether the workspace has a git repository of its own."""
        return (self.root / ".git").exists()

    def resolve(self, name: str) -> str | None:
        """Commit of a full reference name, None where there is none."""
        if not self.exists():
            return None
        try:
            return self.git("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}").decode().strip()
        except HistoryError:
            return None

    def show(self, commit: str, path: str) -> bytes:
        """A file as it was at a commit."""
        return self.git("cat-file", "blob", f"{commit}:{path}")

    def branch(self) -> str:
        """Full name of the branch that HEAD is on.

        Raises:
            HistoryError: HEAD is detached.
        """
        try:
            return self.git("symbolic-ref", "--quiet", "HEAD").decode().strip()
        except HistoryError:
            raise HistoryError.from_detached(str(self.root)) from None

    def identity(self) -> tuple[str, ...]:
        """Settings for a commit where nobody told git who works here; empty where somebody did."""
        if any(os.environ.get(name) for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL")):
            return ()
        try:
            told = self.git("config", "user.email").strip() and self.git("config", "user.name").strip()
        except HistoryError:
            told = b""
        return () if told else ("-c", f"user.name={IDENTITY[0]}", "-c", f"user.email={IDENTITY[1]}")

    def commit(self, paths: Sequence[str], message: str, now: datetime) -> str:
        """Commit these paths alone on top of HEAD, through an index of its own: what the user has staged stays staged.

        The user's index still shows the paths as they were; :meth:`refresh` follows.

        Args:
            paths: relative to the root; a path that does not exist is committed as removed.
            message: of the commit.
            now: its time.
        """
        branch, head = self.branch(), self.resolve("HEAD")
        clock = {"GIT_AUTHOR_DATE": now.isoformat(), "GIT_COMMITTER_DATE": now.isoformat()}
        literal = {"GIT_LITERAL_PATHSPECS": "1"}
        with tempfile.TemporaryDirectory(prefix="verilake-index-") as folder:
            own = {"GIT_INDEX_FILE": str(Path(folder) / "index"), **literal}
            self.git(*(["read-tree", head] if head else ["read-tree", "--empty"]), extra=own)
            self.git("add", "--force", "--all", "--", *paths, extra=own)
            tree = self.git("write-tree", extra=own).decode().strip()
        parents = ("-p", head) if head else ()
        commit = (
            self.git("commit-tree", tree, *parents, "-F", "-", extra=clock, settings=self.identity(), given=message.encode())
            .decode()
            .strip()
        )
        self.git("update-ref", "-m", "verilake publish", "--", branch, commit, head or "0" * len(commit))
        return commit

    def refresh(self, paths: Sequence[str]) -> None:
        """Bring the user's index up to HEAD for these paths."""
        self.git("reset", "--quiet", "--", *paths, extra={"GIT_LITERAL_PATHSPECS": "1"})

    def tag(self, name: str, commit: str) -> None:
        """Create a tag; one that is there is never moved."""
        self.git("update-ref", "--", f"refs/tags/{name}", commit, "0" * len(commit))

    def publications(self) -> list[Published]:
        """All tagged publications, by round and attempt."""
        if not self.exists():
            return []
        listed = self.git("for-each-ref", "--format=%(refname)%00%(objectname)%00%(contents)%01", "refs/tags/round-*")
        found = []
        for entry in listed.decode("utf-8", "replace").split("\x01"):
            name, _, rest = entry.strip().removeprefix("refs/tags/").partition("\x00")
            commit, _, said = rest.partition("\x00")
            published = _published(name, commit, said)
            if published is not None:
                found.append(published)
        return sorted(found, key=lambda p: (p.round_no, p.attempt))

    def untagged(self, tag: str) -> Published | None:
        """A committed publication that died before its tag."""
        if self.resolve("HEAD") is None:
            return None
        listed = self.git("log", "--format=%H%x00%B%x01", "--fixed-strings", f"--grep={TRAILER} {tag} ").decode("utf-8", "replace")
        for entry in listed.split("\x01"):
            commit, _, message = entry.strip().partition("\x00")
            published = _published(tag, commit, message)
            if published is not None:
                return published
        return None

    def newest(self, round_no: int) -> Published:
        """The newest publication of a round.

        Raises:
            NotPublishedError: there is none.
        """
        held = [p for p in self.publications() if p.round_no == round_no]
        if not held:
            raise NotPublishedError.from_round(round_no)
        return held[-1]


def _published(tag: str, commit: str, message: str) -> Published | None:
    """The publication that a tag and its commit's message agree on; None where somebody else made the tag."""
    match, stated = TAG.fullmatch(tag), _STATED.search(message)
    if match is None or stated is None or stated[1] != tag:
        return None
    return Published(int(match[1]), int(match[2] or 1), tag, commit, stated[2])
