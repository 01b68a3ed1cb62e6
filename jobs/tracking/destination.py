"""Where rounds are logged: the workspace's own sqlite, or a tracking server by URI. Credentials in a URI are used and never shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit, urlunsplit

from jobs.workspace import Workspace
from schemas.conf import Track
from schemas.errors import VerilakeError
from schemas.ids import content_id

#: In the workspace, neither in git nor in a publication.
DATABASE, ARTIFACTS = "mlflow.db", "mlartifacts"
_DATABASES = {"sqlite": None, "postgresql": 5432, "mysql": 3306, "mssql": 1433}
_USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s]*@")


class TrackingUriError(VerilakeError):
    """``track.uri`` cannot be used."""

    exit_code = 2

    @classmethod
    def from_uri(cls, uri: str, why: str) -> TrackingUriError:
        """Why not; credentials left out."""
        return cls(
            f"track.uri = {redacted(uri)!r}: {why}. Allowed: http(s)://HOST[:PORT] of an MLflow server, a database that MLflow knows "
            "(sqlite:///PATH, postgresql://..., mysql://..., mssql://...), databricks, or nothing for sqlite in the workspace."
        )

    @classmethod
    def from_path(cls, path: str) -> TrackingUriError:
        """The workspace's own path cannot be spelled as a database URI."""
        return cls(f"{path}: a path with '?' cannot be part of a database URI. Move the workspace, or set track.uri.")


@dataclass(frozen=True)
class Destination:
    """A tracking store.

    Attributes:
        uri: for MLflow; of a server without its credentials.
        shown: for people and logs.
        key: tells destinations apart in the ledger; the same wherever the workspace lies.
        user: user name for a server, None where the URI names none.
        password: likewise.
        artifacts: where a new experiment keeps its artifacts; None where the server decides.
        address: host and port that must answer before MLflow is asked, for databases: MLflow itself would try for minutes.
        secrets: strings that must not appear in any message.
    """

    uri: str = field(repr=False)
    shown: str
    key: str
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    artifacts: str | None = None
    address: tuple[str, int] | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def clean(self, text: str) -> str:
        """``text`` (a message of MLflow, say) without credentials."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return redacted(text)


def destination(track: Track, workspace: Workspace) -> Destination:
    """The store that the settings name.

    Raises:
        TrackingUriError: the URI is none that MLflow can use.
    """
    artifacts = (workspace.root / ARTIFACTS).as_uri()
    if not track.uri:
        path = str(workspace.root / DATABASE)
        if "?" in path:
            raise TrackingUriError.from_path(path)
        return Destination(uri=f"sqlite:///{path}", shown=path, key="", artifacts=artifacts)
    if track.uri == "databricks" or track.uri.startswith("databricks://"):
        return Destination(uri=track.uri, shown=redacted(track.uri), key=content_id(track.uri))
    return _parsed(track.uri, artifacts)


def _parsed(uri: str, artifacts: str) -> Destination:
    if any(ord(char) < 33 or ord(char) == 127 for char in uri):
        raise TrackingUriError.from_uri(uri, "it holds blanks or control characters")
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise TrackingUriError.from_uri(uri, str(error)) from None
    user, password = (None if text is None else unquote(text) for text in (parts.username, parts.password))
    secrets = tuple(sorted({s for s in (parts.password, password) if s}, key=len, reverse=True))
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    key = content_id(bare)
    if parts.scheme in {"http", "https"} and host:
        return Destination(uri=bare, shown=bare, key=key, user=user, password=password, secrets=secrets)
    kind = parts.scheme.partition("+")[0]
    if kind not in _DATABASES:
        raise TrackingUriError.from_uri(uri, "no such kind of tracking store")
    default = _DATABASES[kind]
    address = (host, port or default) if host and default else None
    return Destination(uri=uri, shown=bare, key=key, artifacts=artifacts, address=address, secrets=secrets)


def redacted(text: str) -> str:
    """``text`` with the user part of every URI in it replaced."""
    return _USERINFO.sub(r"\1***@", text)
