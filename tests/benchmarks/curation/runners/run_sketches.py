"""rensa and datasketch with the Python shingling that their users write: lower case, ``\\w+``, word 5-grams; and each README's own recipe.

rensa: ``readme`` is its RMinHashDeduplicator on ``str.split`` words, K = 128; ``14x8`` the same class on 5-grams; ``rho`` its rho pipeline, which
its published figures measure. datasketch: MinHash and MinHashLSH, threshold 0.8, on 5-grams; or 14 x 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from _contract import arguments, write_removed
from pyarrow import parquet

WORDS = re.compile(r"\w+")


def rows(source: Path) -> Iterator[tuple[int, str]]:
    for path in sorted(source.glob("*.parquet")):
        for batch in parquet.ParquetFile(path).iter_batches(1000):
            yield from zip(batch["id"].to_pylist(), (text or "" for text in batch["text"].to_pylist()), strict=True)


def shingles(text: str) -> list[str]:
    words = WORDS.findall(text.lower())
    return [" ".join(words)] if len(words) < 5 else [" ".join(words[at : at + 5]) for at in range(len(words) - 4)]


def by_rensa(source: Path, setting: str) -> list[int]:
    from rensa import RMinHashDeduplicator

    bands = {"num_perm": 112, "num_bands": 14} if "14x8" in setting else {"num_perm": 128}
    dedup = RMinHashDeduplicator(threshold=0.8, use_lsh=True, **bands)
    tokens = str.split if "readme" in setting else shingles
    ids: list[int] = []

    def pairs() -> Iterator[tuple[str, list[str]]]:
        for row, text in rows(source):
            ids.append(row)
            yield str(row), tokens(text)

    keep = dedup.add_pairs(pairs())
    return [row for row, kept in zip(ids, keep, strict=True) if not kept]


def by_rho(source: Path) -> list[int]:
    """The one-shot batch pipeline of the published figures: K = 128, 8 bands; words as tokens."""
    from rensa import RMinHash, RMinHashLSH

    ids, tokens = [], []
    for row, text in rows(source):
        ids.append(row)
        tokens.append(text.split())
    matrix = RMinHash.digest_matrix_from_token_sets_rho(tokens, num_perm=128, seed=42)
    flags = RMinHashLSH(threshold=0.8, num_perm=128, num_bands=8).query_duplicate_flags_matrix_one_shot(matrix)
    return [row for row, flag in zip(ids, flags, strict=True) if flag]


def by_datasketch(source: Path, setting: str) -> list[int]:
    from datasketch import MinHash, MinHashLSH

    k = 112 if "14x8" in setting else 128
    index = MinHashLSH(num_perm=k, params=(14, 8)) if "14x8" in setting else MinHashLSH(threshold=0.8, num_perm=k)
    removed = []
    for row, text in rows(source):
        values = MinHash(num_perm=k)
        values.update_batch([shingle.encode() for shingle in shingles(text)])
        if index.query(values):
            removed.append(row)
        else:
            index.insert(row, values)
    return removed


def main() -> None:
    source, out, setting = arguments()
    if setting.startswith("datasketch"):
        write_removed(out, by_datasketch(source, setting))
    else:
        write_removed(out, by_rho(source) if "rho" in setting else by_rensa(source, setting))


if __name__ == "__main__":
    main()
