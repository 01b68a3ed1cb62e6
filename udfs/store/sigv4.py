"""AWS Signature Version 4 for S3 requests, as the service's documentation defines it.

Forty lines of hashing and not a client library: the workers' environment carries pyarrow and its engine and nothing that speaks
S3 with conditional requests (pyarrow's own file system has no ``If-None-Match``). The test holds them to the documented examples.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class Credentials:
    """Who signs; ``token`` belongs to temporary credentials."""

    key: str
    secret: str
    region: str = "us-east-1"
    token: str | None = None


def encode_path(path: str) -> str:
    """A key as the path of a request: every byte but the unreserved ones and ``/`` as %XX."""
    return quote(path, safe="/-_.~")


def encode_query(query: Mapping[str, str]) -> str:
    """A query in the canonical order and spelling."""
    return "&".join(f"{quote(key, safe='-_.~')}={quote(value, safe='-_.~')}" for key, value in sorted(query.items()))


def authorization(
    credentials: Credentials, method: str, path: str, query: str, headers: Mapping[str, str], payload_sha256: str, stamp: str
) -> str:
    """The value of ``Authorization``.

    Args:
        credentials: who signs.
        method: verb.
        path: encoded path, with the leading slash.
        query: encoded query, without the question mark.
        headers: the headers that are signed, ``host`` and ``x-amz-date`` among them.
        payload_sha256: hex digest of the body.
        stamp: the time as ``YYYYMMDDTHHMMSSZ``, as in ``x-amz-date``.
    """
    ordered = sorted((name.lower(), " ".join(value.split())) for name, value in headers.items())
    signed = ";".join(name for name, _ in ordered)
    lines = "".join(f"{name}:{value}\n" for name, value in ordered)
    canonical = f"{method}\n{path}\n{query}\n{lines}\n{signed}\n{payload_sha256}"
    scope = f"{stamp[:8]}/{credentials.region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return f"AWS4-HMAC-SHA256 Credential={credentials.key}/{scope},SignedHeaders={signed},Signature={signature}"
