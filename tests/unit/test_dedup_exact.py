from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from udfs.dedup.digest import DIGEST_BYTES, digest, digests
from udfs.dedup.jaccard import shingle_sets, similarity
from udfs.dedup.kernel import KernelName


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("The cat.", "the  CAT.\n", True),
        ("Caf\u00e9", "Cafe\u0301", True),
        ("ex\u00adample", "example", True),
        ("the cat.", "the cat", False),  # punctuation counts
        ("1.5", "1 5", False),
        ("", " \n ", True),
        ("!!", "??", False),  # no tokens, yet different texts
    ],
)
def test_digest_equality(left: str, right: str, equal: bool) -> None:
    assert (digest(left) == digest(right)) is equal


def test_digests_of_a_column() -> None:
    found = digests(pa.array(["zz", "a", None, "A ", ""])[1:]).to_pylist()
    assert found[0] == found[2]
    assert found[1] == found[3] == digest("")
    assert len(found[0]) == DIGEST_BYTES
    # blake2b with a 16-byte digest of b"a", as hashlib and `b2sum -l 128` give it.
    assert found[0].hex() == "27c35e6e9373877f29e562464e46497e"


@pytest.mark.parametrize(
    ("member", "kept", "jaccard", "containment"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0, 1.0),
        ([1, 2, 3, 4], [3, 4, 5, 6], 2 / 6, 0.5),
        ([1, 2], [1, 2, 3, 4], 0.5, 1.0),  # a part of the kept one
        ([1, 2, 3, 4], [1, 2], 0.5, 0.5),
        ([1], [2], 0.0, 0.0),
        ([], [], 1.0, 1.0),
        ([], [1], 0.0, 1.0),
        ([1], [], 0.0, 0.0),
    ],
)
def test_similarity(member: list[int], kept: list[int], jaccard: float, containment: float) -> None:
    found = similarity(np.array(member, np.uint64), np.array(kept, np.uint64))
    assert found.jaccard == pytest.approx(jaccard)
    assert found.containment == pytest.approx(containment)


def test_sets_are_sorted_and_distinct() -> None:
    hashes, offsets = np.array([5, 1, 5, 2**64 - 1, 1, 9, 9, 1], np.uint64), np.array([0, 0, 5, 5, 7, 8, 8], np.int64)
    assert [values.tolist() for values in shingle_sets(hashes, offsets)] == [[], [1, 5, 2**64 - 1], [], [9], [1], []]
    assert shingle_sets(np.zeros(0, np.uint64), np.zeros(1, np.int64)) == []


@pytest.mark.parametrize("kernel", ["numba", "numpy"])
def test_digests_of_a_column_are_those_of_its_texts(kernel: KernelName) -> None:
    blanks = " \t\n\x0b\x0c\r\x1c\x1f\x85\u00a0\u1680\u2003\u2028\u2029\u3000"
    draw = random.Random(4)
    texts = [
        "",
        " ",
        "A  b",
        "\u2028",
        "\u2027x\u1681y\u00c2\u0084",
        *("".join(draw.choices(f"aB\u00e9\u00c9.\u1e00\u2014\u4e00{blanks}", k=30)) for _ in range(400)),
    ]
    assert digests(pa.array(texts), kernel).to_pylist() == [digest(text) for text in texts]
