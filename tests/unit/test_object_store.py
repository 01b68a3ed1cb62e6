"""The store on an S3-like server of our own: one winner, lost answers, busy and slow servers, signatures of the documentation."""

from __future__ import annotations

import hashlib
import threading
import time

import pytest

from tests.faults.object_server import serving
from udfs.store.sigv4 import Credentials, authorization
from udfs.store.store import StoreError, StoreUnavailableError, is_store_fault, open_store

#: Credentials, time and bucket of the examples in "Signature Calculations for the Authorization Header" of the S3 API reference.
EXAMPLE = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
HOST = {"host": "examplebucket.s3.amazonaws.com", "x-amz-date": "20130524T000000Z"}


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "further", "signature"),
    [
        ("GET", "/test.txt", "", b"", {"range": "bytes=0-9"}, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        (
            "PUT", "/test%24file.text", "", b"Welcome to Amazon S3.",
            {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        ("GET", "/", "max-keys=2&prefix=J", b"", {}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)  # fmt: skip
def test_signatures_are_those_of_the_documentation(method, path, query, body, further, signature):
    digest = hashlib.sha256(body).hexdigest()
    headers = {**HOST, "x-amz-content-sha256": digest, **further}
    assert authorization(EXAMPLE, method, path, query, headers, digest, HOST["x-amz-date"]).endswith(f"Signature={signature}")


@pytest.fixture
def server():
    with serving() as running:
        yield running


def test_what_is_put_is_read_listed_and_removed(server):
    store = server.store()
    store.put("d/2", b"x")
    store.put("d/1 ü&<+.json", b"yy")
    store.put("d/sub/3", b"", durable=False)
    store.put("other", b"z")
    assert store.read("d/1 ü&<+.json") == b"yy"
    assert store.list("d") == ["1 ü&<+.json", "2", "sub"]
    assert [(entry.name, entry.size) for entry in store.entries("d")] == [("1 ü&<+.json", 2), ("2", 1)]
    assert store.list("nothing") == []
    assert (store.read("nothing"), store.stat("nothing"), store.exists("d/2")) == (None, None, True)
    assert store.move("d/2", "e/2")
    assert not store.move("d/2", "e/2")
    assert (store.read("e/2"), store.read("d/2")) == (b"x", None)
    store.remove("e/2")
    store.remove("e/2")
    assert server.store("runs").list("") == ["run=r1"]


def test_a_listing_of_many_pages_is_whole(server):
    server.page = 7
    store = server.store()
    for k in range(30):
        store.put(f"d/{k:02d}", b"x")
        store.put(f"d/folder{k:02d}/x", b"")
    assert store.list("d") == [f"{k:02d}" for k in range(30)] + [f"folder{k:02d}" for k in range(30)]


def test_of_eight_clients_exactly_one_creates_each_name(server):
    won, names = [[] for _ in range(8)], [f"claims/{k}" for k in range(40)]

    def claim(number):
        store = server.store()
        won[number].extend(name for name in names if store.create_if_absent(name, f"{name} {number}".encode()))

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(name for mine in won for name in mine) == sorted(names)
    for number, mine in enumerate(won):
        assert all(server.store().read(name) == f"{name} {number}".encode() for name in mine)


@pytest.mark.parametrize(
    ("faults", "first", "second"),
    [
        ([409, 409], True, False),  # two met: the service asks to try again
        ([500, "drop", 503], True, False),  # nothing was done
        (["lose"], True, False),  # it was done and nobody heard: the second try finds its own mark
        (["lose", "lose", 503], True, False),
        ([6.0], True, False),  # slower than the client waits: carried out meanwhile
    ],
)
def test_a_create_whose_answer_is_late_or_lost_still_has_one_winner(server, faults, first, second):
    server.faults["PUT"] = list(faults)
    store = server.store(timeout=0.5, pause=0.2 if faults == [6.0] else 0.01)
    assert store.create_if_absent("claims/1", b"mine") is first
    assert store.create_if_absent("claims/1", b"theirs") is second
    assert store.read("claims/1") == b"mine"
    assert server.faults["PUT"] == []


def test_an_answer_lost_to_the_loser_does_not_make_it_a_winner(server):
    assert server.store().create_if_absent("claims/1", b"first")
    server.faults["PUT"] = ["lose", 500]
    assert not server.store().create_if_absent("claims/1", b"second")


def test_a_server_that_stays_away_is_a_fault_of_the_store(server):
    store = server.store(tries=3)
    server.faults["GET"] = ["drop", 503, 500]
    with pytest.raises(StoreUnavailableError, match="failed 3 times: HTTP 500") as caught:
        store.read("x")
    assert is_store_fault(caught.value)
    server.shutdown()
    server.server_close()
    with pytest.raises(StoreUnavailableError):
        server.store(tries=2).put("x", b"")


def test_wrong_credentials_are_refused_at_once(server, monkeypatch):
    for name, value in (server.environment() | {"AWS_SECRET_ACCESS_KEY": "wrong"}).items():
        monkeypatch.setenv(name, value)
    store = open_store("s3://bucket/runs/run=r1")
    with pytest.raises(StoreError, match=r"403 .*SignatureDoesNotMatch"):
        store.read("x")
    assert len(server.asked) == 1
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreError, match="AWS_ACCESS_KEY_ID"):
        open_store("s3://bucket/runs/run=r1")
    with pytest.raises(StoreError, match="s3://BUCKET/PREFIX"):
        open_store("gs://bucket/runs/run=r1")


def test_the_clock_is_the_servers(server):
    server.skew = 5000.0
    store = server.store()
    store.put("beat", b"")
    assert 4990 < store.now() - time.time() < 5010
    assert 0 <= store.now() - store.mtime("beat") <= 2
    assert store.list(".tmp") == []
