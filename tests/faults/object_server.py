"""A small S3-like server on loopback: conditional put, get, head, list, delete, Last-Modified; it checks signatures and can misbehave."""

from __future__ import annotations

import hashlib
import threading
import time
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from udfs.store.object_store import ObjectStore
from udfs.store.sigv4 import Credentials, authorization

KEYS = Credentials("test-key", "test-secret")
BUCKET = "bucket"


class ObjectServer(ThreadingHTTPServer):
    """Objects in memory.

    Attributes:
        objects: key -> (bytes, headers kept with it, when).
        faults: what happens to the next requests of a method, in order: an HTTP status, ``"drop"`` (nothing is done and the connection
            closed), ``"lose"`` (it is carried out and the answer lost), or a number of seconds to wait.
        skew: seconds that the server's clock is ahead.
        page: keys a listing shows at once.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects, self.faults, self.asked = {}, {}, []
        self.lock = threading.Lock()
        self.skew, self.page = 0.0, 1000

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.server_port}"

    def store(self, prefix="runs/run=r1", **further):
        return ObjectStore(self.endpoint, BUCKET, prefix, KEYS, **{"timeout": 5.0, "pause": 0.01} | further)

    def environment(self):
        return {"AWS_ENDPOINT_URL": self.endpoint, "AWS_ACCESS_KEY_ID": KEYS.key, "AWS_SECRET_ACCESS_KEY": KEYS.secret}

    def handle_error(self, request, client_address):
        """A client that was killed in the middle of a request is no news."""


@contextmanager
def serving():
    server = ObjectServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _key(self):
        return unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}").lstrip("/")

    def _answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.pop("size", len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _genuine(self, body):
        """Whether the signature and the digest are right."""
        given = self.headers["authorization"]
        names = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
        split = urlsplit(self.path)
        wanted = authorization(
            KEYS, self.command, split.path, split.query, {name: self.headers[name] for name in names},
            self.headers["x-amz-content-sha256"], self.headers["x-amz-date"],
        )  # fmt: skip
        return given == wanted and hashlib.sha256(body).hexdigest() == self.headers["x-amz-content-sha256"]

    def _serve(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with server.lock:
            server.asked.append((self.command, self._key()))
            planned = server.faults.get(self.command) or [None]
            fault = planned.pop(0)
        if isinstance(fault, float):
            time.sleep(fault)
        if fault == "drop":
            self.close_connection = True
            return
        if isinstance(fault, int):
            self._answer(fault, b"<Error><Code>Planned</Code></Error>")
            return
        if not self._genuine(body):
            self._answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
            return
        if fault == "lose":
            self._act(body, lambda *_, **__: None)
            self.close_connection = True
            return
        self._act(body, self._answer)

    do_GET = do_PUT = do_HEAD = do_DELETE = _serve  # noqa: N815  # the names that http.server calls

    def _act(self, body, answer):
        server, key = self.server, self._key()
        with server.lock:
            held = server.objects.get(key)
            if self.command == "PUT":
                if self.headers.get("if-none-match") == "*" and held is not None:
                    return answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
                kept = {name: value for name, value in self.headers.items() if name.startswith("x-amz-meta-")}
                server.objects[key] = (body, kept, time.time() + server.skew)
                return answer(200)
            if self.command == "DELETE":
                server.objects.pop(key, None)
                return answer(204)
            if not key:
                return answer(200, self._listing())
        if held is None:
            return answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        data, kept, when = held
        return answer(200, data, Last_Modified=formatdate(when, usegmt=True), **kept)

    def _listing(self):
        query = dict(parse_qsl(urlsplit(self.path).query))
        prefix, after = query["prefix"], query.get("continuation-token", "")
        below, lines = {}, []
        for key in sorted(self.server.objects):
            if key.startswith(prefix):
                name, slash, _ = key[len(prefix) :].partition("/")
                below[prefix + name + slash] = key
        shown = [key for key in below if key > after]
        for key in shown[: self.server.page]:
            if key.endswith("/"):
                lines.append(f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>")
                continue
            data, _, when = self.server.objects[key]
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(when))
            lines.append(f"<Contents><Key>{escape(key)}</Key><LastModified>{stamp}</LastModified><Size>{len(data)}</Size></Contents>")
        if len(shown) > self.server.page:
            lines.append(f"<NextContinuationToken>{escape(shown[self.server.page - 1])}</NextContinuationToken>")
        return f'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{"".join(lines)}</ListBucketResult>'.encode()
