"""Publications go to a DVC remote as well where one is set; what did not get there is sent with the next run."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

from jobs.files import put
from jobs.publish.errors import HistoryError
from jobs.publish.history import History

NAME = "verilake"
_LOG = logging.getLogger("verilake.publish")
#: ``scheme://user:secret@host``: such an address must not get into git.
_SECRET = re.compile(r"://[^/@]*:[^/@]*@", re.ASCII)


def configure(history: History, remote: str) -> None:
    """Name the remote in DVC's settings: in those of git for every clone, unless its address holds a secret, and in the local ones.

    A push of older tags reads the settings of their commits, which may not know the remote: the local settings are in force for all.
    """
    if not remote:
        return
    for where, flag in (("config.local", ["--local"]), *([] if _SECRET.search(remote) else [("config", list[str]())])):
        path = history.root / ".dvc" / where
        if not path.is_file() or remote not in path.read_text("utf-8", "replace"):
            history.dvc("remote", "add", "--quiet", "--force", "--default", *flag, "--", NAME, remote)


def push(history: History, remote: str) -> bool:
    """Send what the remote lacks; False where that failed: the publication stands, the next run tries again."""
    if not remote:
        return True
    done = _pushed(history, remote)
    tags = [p.tag for p in history.publications()]
    lacking = [tag for tag in tags if tag not in done]
    if not lacking:
        return True
    try:
        configure(history, remote)
        # One tag is what lies in the workspace; more of them are old failures.
        history.dvc("push", "--quiet", "--remote", NAME, *(["--all-tags"] if len(lacking) > 1 or lacking != tags[-1:] else []))
    except HistoryError as error:
        said = _SECRET.sub("://***@", str(error).replace(remote, _SECRET.sub("://***@", remote)))
        _LOG.warning("%s is published and could not be sent to the DVC remote: %s; the next run tries again", ", ".join(lacking), said)
        return False
    put(_note(history), json.dumps({"remote": "" if _SECRET.search(remote) else remote, "tags": tags}).encode())
    return True


def _pushed(history: History, remote: str) -> set[str]:
    try:
        held = json.loads(_note(history).read_bytes())
    except (OSError, ValueError):
        return set()
    return set(held["tags"]) if held.get("remote") == ("" if _SECRET.search(remote) else remote) else set()


def _note(history: History) -> Path:
    return history.root / ".dvc" / "tmp" / "verilake-pushed.json"
