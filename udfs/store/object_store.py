"""The store on an S3-compatible service: create-if-absent is a conditional put (``If-None-Match: *``).

412 says that another was first, 409 that two met and this one must ask again. An answer that was lost on the way leaves open who
won: each object carries the mark of its writer, so that a second answer of 412 can be told from one's own first success.
"""

from __future__ import annotations

import builtins
import hashlib
import http.client
import os
import random
import ssl
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from udfs.store.sigv4 import Credentials, authorization, encode_path, encode_query
from udfs.store.store import Entry, Store, StoreError, StoreUnavailableError

_MARK = "x-amz-meta-writer"
#: Answers that a later try may turn into a good one.
_AGAIN = frozenset({409, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Answer:
    """An answer of the service; ``lost`` says that an earlier try of the request may have been carried out unheard."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    lost: bool


@dataclass
class ObjectStore(Store):
    """Objects below one prefix of one bucket, addressed by path.

    Attributes:
        endpoint: ``http(s)://HOST[:PORT]``.
        bucket: its name.
        prefix: below which the names lie, without slashes at its ends.
        credentials: who signs.
        timeout: seconds until an answer is given up.
        tries: of one request, with pauses that double from ``pause`` seconds.
        pause: the first one.
    """

    endpoint: str
    bucket: str
    prefix: str
    credentials: Credentials
    timeout: float = 30.0
    tries: int = 8
    pause: float = 0.1
    _local: threading.local = field(default_factory=threading.local, repr=False)

    def __post_init__(self) -> None:
        self.uri = f"s3://{self.bucket}/{self.prefix}"

    @classmethod
    def from_environment(cls, uri: str) -> ObjectStore:
        """The store at ``s3://BUCKET/PREFIX``, by the variables that every S3 client reads.

        Raises:
            StoreError: no bucket or no credentials.
        """
        bucket, _, prefix = uri.removeprefix("s3://").partition("/")
        environment = os.environ
        key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
        if not bucket or not key or not secret:
            raise StoreError(f"{uri}: a bucket, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are needed; AWS_ENDPOINT_URL names the server.")
        region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "us-east-1"
        endpoint = (
            environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or f"https://s3.{region}.amazonaws.com"
        ).rstrip("/")
        return cls(endpoint, bucket, prefix.strip("/"), Credentials(key, secret, region, environment.get("AWS_SESSION_TOKEN")))

    def create_if_absent(self, name: str, data: bytes) -> bool:
        """A conditional put."""
        mark = uuid.uuid4().hex
        answer = self._ask("PUT", name, data, {"if-none-match": "*", _MARK: mark}, accept={200, 201, 204, 412})
        if answer.status != 412:
            return True
        # 412 to the first try heard: another was first. After an answer that was lost, the winner may have been this call.
        return answer.lost and self._ask("HEAD", name, accept={200, 404}).headers.get(_MARK) == mark

    def put(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """A put; the service makes every object durable."""
        del durable
        self._ask("PUT", name, data, {_MARK: uuid.uuid4().hex}, accept={200, 201, 204})

    def read(self, name: str) -> bytes | None:
        """The object's bytes."""
        answer = self._ask("GET", name, accept={200, 404})
        return answer.body if answer.status == 200 else None

    def list(self, folder: str) -> builtins.list[str]:
        """Names below ``folder``, objects and common prefixes."""
        objects, folders = self._listed(folder)
        return sorted({*(entry.name for entry in objects), *folders})

    def entries(self, folder: str) -> builtins.list[Entry]:
        """Objects below ``folder``."""
        return sorted(self._listed(folder)[0], key=lambda entry: entry.name)

    def stat(self, name: str) -> Entry | None:
        """Size and ``Last-Modified`` (whole seconds) of an object."""
        answer = self._ask("HEAD", name, accept={200, 404})
        if answer.status != 200:
            return None
        when = parsedate_to_datetime(answer.headers["last-modified"]).timestamp()
        return Entry(name.rpartition("/")[2], int(answer.headers["content-length"]), when)

    def remove(self, name: str) -> None:
        """A delete; what is not there is deleted already."""
        self._ask("DELETE", name, accept={200, 202, 204, 404})

    def now(self) -> float:
        """``Last-Modified`` of an object made for this question."""
        probe = f".tmp/clock-{uuid.uuid4().hex}"
        self.put(probe, b"")
        found = self.stat(probe)
        self.remove(probe)
        if found is None:
            raise StoreUnavailableError(f"{self.uri}: an object that was just written is not there")
        return found.mtime

    def _listed(self, folder: str) -> tuple[builtins.list[Entry], builtins.list[str]]:
        prefix = "/".join(part for part in (self.prefix, folder) if part) + "/"
        query = {"list-type": "2", "prefix": prefix, "delimiter": "/"}
        objects: builtins.list[Entry] = []
        folders: builtins.list[str] = []
        while True:
            root = ET.fromstring(self._ask("GET", None, query=query, accept={200}).body)  # noqa: S314  # the operator's own server, asked with his key
            for item in root.iterfind("{*}Contents"):
                name = item.findtext("{*}Key", "").removeprefix(prefix)
                when = datetime.fromisoformat(item.findtext("{*}LastModified", "")).timestamp()
                if name:
                    objects.append(Entry(name, int(item.findtext("{*}Size", "0")), when))
            folders += [item.findtext("{*}Prefix", "").removeprefix(prefix).rstrip("/") for item in root.iterfind("{*}CommonPrefixes")]
            token = root.findtext("{*}NextContinuationToken")
            if not token:
                return objects, folders
            query["continuation-token"] = token

    def _ask(
        self,
        method: str,
        name: str | None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        accept: set[int],
    ) -> Answer:
        """One request, tried again where the service asks for it or does not answer.

        Raises:
            StoreUnavailableError: no good answer after all tries.
            StoreError: the service refuses (credentials, bucket, address).
        """
        key = "" if name is None else "/" + "/".join(part for part in (self.prefix, name) if part)
        path, lost, last = encode_path(f"/{self.bucket}{key}"), False, ""
        for number in range(self.tries):
            if number:
                time.sleep(self.pause * 2 ** (number - 1) * random.uniform(0.5, 1.0))  # noqa: S311  # so that many do not return at once
            try:
                status, found, data = self._send(method, path, encode_query(query or {}), body, headers or {})
            except (OSError, http.client.HTTPException) as error:
                lost, last = True, f"{type(error).__name__}: {error}"
                continue
            if status in accept:
                return Answer(status, found, data, lost)
            last = f"HTTP {status} {data[:300].decode('utf-8', 'replace')}"
            if status not in _AGAIN:
                raise StoreError(f"{self.endpoint}{path}: {method} was refused: {last}")
            lost = lost or status >= 500
        raise StoreUnavailableError(f"{self.endpoint}{path}: {method} failed {self.tries} times: {last}")

    def _send(self, method: str, path: str, query: str, body: bytes, further: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(body).hexdigest()
        signed = {"host": urlsplit(self.endpoint).netloc, "x-amz-date": stamp, "x-amz-content-sha256": digest, **further}
        if self.credentials.token:
            signed["x-amz-security-token"] = self.credentials.token
        headers = {**signed, "authorization": authorization(self.credentials, method, path, query, signed, digest, stamp)}
        connection = self._connection()
        try:
            connection.request(method, f"{path}?{query}" if query else path, body=body, headers=headers)
            response = connection.getresponse()
            data = response.read()
        except BaseException:  # whatever ended the exchange: what is left of it must not answer the next request
            connection.close()
            self._local.held = None
            raise
        return response.status, {name.lower(): value for name, value in response.getheaders()}, data

    def _connection(self) -> http.client.HTTPConnection:
        """This thread's connection; a process that was forked opens its own."""
        held: tuple[int, http.client.HTTPConnection] | None = getattr(self._local, "held", None)
        if held is None or held[0] != os.getpid():
            address = urlsplit(self.endpoint)
            host = address.hostname or ""
            if address.scheme == "https":
                connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                    host, address.port, timeout=self.timeout, context=ssl.create_default_context()
                )
            else:
                connection = http.client.HTTPConnection(host, address.port, timeout=self.timeout)
            held = self._local.held = (os.getpid(), connection)
        return held[1]
