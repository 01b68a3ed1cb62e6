"""Signatures of 120 permutations over word 5-grams on one core: ours, its floors, and the peers that can be imported here.

    python tests/benchmarks/signature_kernel.py [--documents 4000] [--text FILE ...] [--repeat 7]

Figures are megabytes of UTF-8 text a second of CPU time of one thread, the best of the repetitions, so that what else runs on the
machine counts little. No assertion: the figures stand beside their floors, and a person reads them. Peers (rensa, datasketch) are
measured from the documents, which is what a user has, and from shingle strings that were made before, which is the most that they
can reach. Install them in an environment of their own beside numba, numpy, pyarrow, scipy and pydantic.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from udfs.dedup.kernel import token_hashes
from udfs.dedup.minhash import MinHashScheme, band_key_lists, signatures

SCHEME = MinHashScheme(shingle=5, bands=20, rows=6)
PERMUTATIONS = 120


def prose(count: int, seed: int = 1) -> list[str]:
    """Documents of a Zipf vocabulary with the word lengths of English: some 6.3 bytes a word, 560 words a document."""
    draw, size = np.random.default_rng(seed), 20_000
    letters, weights = np.array(list("etaoinshrdlcumwfgypbvkjxqz")), 1 / np.arange(1, 27) ** 0.8
    lengths = np.clip(draw.normal(7.5, 2.8, size).astype(int), 1, 16)
    lengths = lengths[np.argsort(lengths + draw.normal(0, 7, size))]  # common words are shorter
    words = np.array(["".join(draw.choice(letters, n, p=weights / weights.sum())) for n in lengths], object)
    share = np.cumsum(1 / np.arange(1, size + 1) ** 0.95)
    out = []
    for _ in range(count):
        n = int(np.clip(draw.lognormal(6.0, 0.8), 20, 8000))
        picked = words[np.minimum(np.searchsorted(share / share[-1], draw.random(n)), size - 1)].copy()
        picked[::12] = [word.capitalize() for word in picked[::12]]
        picked[11::12] = [word + "." for word in picked[11::12]]
        out.append(" ".join(picked))
    return out


@numba.njit(cache=False, nogil=True)
def _histogram(data, counts):  # type: ignore[no-untyped-def]
    for byte in data:
        counts[byte] += 1


@numba.njit(cache=False, nogil=True)
def _plain_words(data, starts, ends, inside, out):  # type: ignore[no-untyped-def]
    """The textbook loop: split at bytes that are no letter or digit, FNV-1a of each word."""
    count = 0
    for row in range(len(starts)):
        h, open_word = np.uint64(0xCBF29CE484222325), False
        for i in range(starts[row], ends[row]):
            byte = data[i]
            if inside[byte]:
                h = np.uint64(h ^ np.uint64(byte | 0x20)) * np.uint64(0x100000001B3)
                open_word = True
            elif open_word:
                out[count] = h
                count, h, open_word = count + 1, np.uint64(0xCBF29CE484222325), False
        if open_word:
            out[count] = h
            count += 1
    return count


def speed(megabytes: float, repeat: int, work: Callable[[], object]) -> float:
    """Megabytes a second of this thread's CPU time, the best of ``repeat``."""
    work()
    taken = []
    for _ in range(repeat):
        begun = time.thread_time()
        work()
        taken.append(time.thread_time() - begun)
    return megabytes / min(taken)


def shingles(text: str) -> list[str]:
    """Word 5-grams as the peers' users make them."""
    words = text.lower().split()
    return [" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4))]


def floors(column: pa.Array) -> dict[str, Callable[[], object]]:
    """Passes that do less."""
    from udfs.text.buffers import text_buffer

    text = text_buffer(column)
    inside = np.array([chr(i).isalnum() and i < 128 for i in range(256)])
    out = np.empty(len(text.data), np.uint64)
    return {
        "floor: byte histogram": lambda: _histogram(text.data, np.zeros(256, np.int64)),
        "floor: words split and hashed, byte by byte": lambda: _plain_words(text.data, text.starts, text.ends, inside, out),
        "floor: words split and hashed, our pass": lambda: token_hashes(column, "numba"),
    }


def peers(texts: list[str]) -> dict[str, Callable[[], object]]:
    """What can be imported here; the others are named on stderr."""
    found: dict[str, Callable[[], object]] = {}
    for name in ("rensa", "datasketch"):
        if importlib.util.find_spec(name) is None:
            sys.stderr.write(f"{name} is not installed here: not measured\n")
    ready = [shingles(text) for text in texts]
    if importlib.util.find_spec("rensa") is not None:
        from rensa import RMinHash

        def digest(grams: list[str]) -> None:
            sketch = RMinHash(num_perm=PERMUTATIONS, seed=1)
            sketch.update(grams)
            sketch.digest()

        found["rensa R-MinHash, from documents"] = lambda: [digest(shingles(text)) for text in texts]
        found["rensa R-MinHash, from shingles made before"] = lambda: [digest(grams) for grams in ready]
        found["rensa R-MinHash matrix, from shingles made before"] = lambda: RMinHash.digest_matrix_from_token_sets(ready, PERMUTATIONS, 1)
    if importlib.util.find_spec("datasketch") is not None:
        from datasketch import MinHash

        def sketch(grams: list[str]) -> None:
            MinHash(num_perm=PERMUTATIONS, seed=1).update_batch([gram.encode() for gram in grams])

        found["datasketch MinHash, from documents"] = lambda: [sketch(shingles(text)) for text in texts]
    return found


def main() -> None:
    """Print one line a pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--text", type=Path, nargs="*", help="UTF-8 files to use in place of generated prose, cut at blank lines")
    parser.add_argument("--repeat", type=int, default=7)
    wanted = parser.parse_args()
    texts = [part for path in wanted.text or () for part in path.read_text("utf-8").split("\n\n")] or prose(wanted.documents)
    column = pa.array(texts)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    few = texts[: max(1, len(texts) // 8)]  # the peers' share: they take long
    few_megabytes = sum(len(text.encode()) for text in few) / 1e6
    print(f"{len(texts)} documents, {megabytes:.1f} MB; {PERMUTATIONS} permutations, word 5-grams; MB a CPU second of one thread")
    ours = {
        "ours: signatures (numba)": lambda: signatures(column, SCHEME, "numba"),
        "ours: signatures and band keys (numba)": lambda: band_key_lists(column, SCHEME, "numba"),
    }
    rows = {name: speed(megabytes, wanted.repeat, work) for name, work in (ours | floors(column)).items()}
    slow = pa.array(few)
    rows["ours: signatures (numpy)"] = speed(few_megabytes, 1, lambda: signatures(slow, SCHEME, "numpy"))
    rows |= {name: speed(few_megabytes, max(1, wanted.repeat // 2), work) for name, work in peers(few).items()}
    for name, figure in rows.items():
        print(f"{name:<52} {figure:9.1f}   ours / this {rows['ours: signatures (numba)'] / figure:7.2f}")


if __name__ == "__main__":
    main()
