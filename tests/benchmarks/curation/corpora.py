"""Corpora with labels: A planted and synthetic, B natural text of this machine, C what breaks de-duplication.

A document of A is its own base or a copy of one by a named edit, so that what a tool misses can be told by the edit.
"""

from __future__ import annotations

import gzip
import random
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

SEED = 20260101
FILES = 8
RATES = (0.005, 0.01, 0.02, 0.03, 0.045, 0.06, 0.08, 0.12)
Words = list[str]


@dataclass
class Corpus:
    """Texts by row, with the group (row of its base) and the edit of each; rows of no known group are their own."""

    name: str
    texts: list[str]
    group: list[int] = field(default_factory=list)
    edit: list[str] = field(default_factory=list)

    @property
    def megabytes(self) -> float:
        return sum(len(text.encode()) for text in self.texts) / 1e6

    def write(self, folder: Path, files: int = FILES) -> None:
        """Parquet files of consecutive rows: ``id`` int64 and ``text``; the labels stay here."""
        folder.mkdir(parents=True, exist_ok=True)
        for at, rows in enumerate(np.array_split(np.arange(len(self.texts)), files)):
            table = pa.table({"id": pa.array(rows, pa.int64()), "text": pa.array([self.texts[row] for row in rows], pa.string())})
            pq.write_table(table, folder / f"{at:03d}.parquet")


class _Prose:
    """A Zipf vocabulary with the word lengths of English and some accents: about 6.3 bytes a word."""

    def __init__(self, seed: int, size: int = 20_000) -> None:
        self.draw = np.random.default_rng(seed)
        letters, weights = np.array(list("etaoinshrdlcumwfgypbvkjxqz")), 1 / np.arange(1, 27) ** 0.8
        lengths = np.clip(self.draw.normal(7.5, 2.8, size).astype(int), 1, 16)
        lengths = lengths[np.argsort(lengths + self.draw.normal(0, 7, size))]  # common words are shorter
        self.words = np.array(["".join(self.draw.choice(letters, n, p=weights / weights.sum())) for n in lengths], object)
        self.words[50::97] = [word.replace("e", "é") for word in self.words[50::97]]
        share = np.cumsum(1 / np.arange(1, size + 1) ** 0.95)
        self.share = share / share[-1]

    def some(self, count: int) -> Words:
        picked = self.words[np.minimum(np.searchsorted(self.share, self.draw.random(count)), len(self.words) - 1)].copy()
        picked[::12] = [word.capitalize() for word in picked[::12]]
        picked[11::12] = [word + "." for word in picked[11::12]]
        return picked.tolist()

    def document(self) -> Words:
        return self.some(int(np.clip(self.draw.lognormal(5.85, 0.8), 20, 8000)))


def _substituted(rate: float) -> Callable[[Words, _Prose, random.Random], Words]:
    def edit(words: Words, prose: _Prose, rng: random.Random) -> Words:
        at = [i for i in range(len(words)) if rng.random() < rate]
        out = list(words)
        for i, word in zip(at, prose.some(len(at)), strict=True):
            out[i] = word
        return out

    return edit


def _reordered(words: Words, _prose: _Prose, rng: random.Random) -> Words:
    blocks = [words[i : i + 100] for i in range(0, len(words), 100)]
    rng.shuffle(blocks)
    return [word for block in blocks for word in block]


def _recased(words: Words, _prose: _Prose, rng: random.Random) -> Words:
    return [word.upper() if rng.random() < 0.1 else word.rstrip(".").lower() + ("," if rng.random() < 0.1 else "") for word in words]


def _wide(word: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in word)


def _other_form(words: Words, _prose: _Prose, rng: random.Random) -> Words:
    return [_wide(word) if rng.random() < 0.05 else unicodedata.normalize("NFD", word) for word in words]


EDITS: dict[str, Callable[[Words, _Prose, random.Random], Words]] = {
    "copy": lambda words, _p, _r: words,
    **{f"words {rate:.1%}": _substituted(rate) for rate in RATES},
    "front": lambda words, prose, _r: [*prose.some(1), *words],
    "head": lambda words, _p, _r: words[len(words) // 10 :],
    "tail": lambda words, _p, _r: words[: len(words) - len(words) // 10],
    "reorder": _reordered,
    "contained": lambda words, prose, _r: [*words, *prose.some(len(words) // 5)],
    "case": _recased,
    "unicode": _other_form,
}


def planted(count: int, seed: int = SEED) -> Corpus:
    """A: 12 % of the bases have one to three edited copies; all in a seeded shuffle."""
    prose, rng = _Prose(seed), random.Random(seed)
    made: list[tuple[str, int, str]] = []
    names, bases = list(EDITS), 0
    while len(made) < count:
        words = prose.document()
        made.append((" ".join(words), bases, "base"))
        if rng.random() < 0.12:
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                name = rng.choice(names)
                made.append((" ".join(EDITS[name](words, prose, rng)), bases, name))
        bases += 1
    made = made[:count]
    rng.shuffle(made)
    return Corpus(f"A{count // 1000}k", [text for text, _, _ in made], [base for _, base, _ in made], [edit for _, _, edit in made])


def _manual_pages() -> Iterator[str]:
    for path in sorted(Path("/usr/share/man").rglob("*.gz")):
        if path.is_file() and not path.is_symlink():
            lines = gzip.decompress(path.read_bytes()).decode(errors="replace").splitlines()
            text = "\n".join(re.sub(r"^\.\w+\s*", "", line) for line in lines if not line.startswith(('.\\"', "'")))
            yield re.sub(r"\\f.|\\[-&|]", "", text)


def _copyrights() -> Iterator[str]:
    for path in sorted(Path("/usr/share/doc").glob("*/copyright")):
        if path.is_file() and not path.is_symlink():
            yield path.read_text(errors="replace")


def natural(limit: int = 20_000) -> Corpus:
    """B: copyright files, manual pages, and licences and reference pages of the Python installation; what is not there is left out."""
    from udfs.harvest.licences import licence_records
    from udfs.harvest.stdlib import stdlib_records

    texts = [*_copyrights(), *_manual_pages(), *(r.text for r in licence_records()), *(r.text for r in stdlib_records())]
    texts = [text for text in texts if text.strip()]
    random.Random(SEED).shuffle(texts)
    return Corpus("B", texts[:limit])


@dataclass
class Case:
    """Texts of the torture corpus and how many of them may stay; ``words`` says what is asked."""

    name: str
    texts: list[str]
    least: int
    most: int


def torture() -> list[Case]:
    """C at a size that every peer finishes: each case must leave a number of rows within its bounds; the cases share no text."""
    rng, prose = random.Random(SEED), _Prose(SEED + 1)
    long = prose.some(600)
    chinese = [chr(0x4E00 + rng.randrange(3000)) for _ in range(400)]
    accents = " ".join(word.replace("e", "é").replace("a", "à") for word in prose.some(400))
    template, wide, front = prose.some(570), prose.some(300), prose.some(600)
    chain = [long]
    for step in range(40):  # each differs from the one before in 12 of 600 words, in one place: J about 0.95; the ends share little
        chain.append([*chain[-1][: 12 * step], *prose.some(12), *chain[-1][12 * (step + 1) :]])
    digits = ["price " + " ".join(str(rng.randrange(10**6)) for _ in range(80)) for _ in range(20)]
    return [
        Case("different short texts all stay", ["cat", "a totally different dog", "hello world", "blue", "x y z"], 5, 5),
        Case("copies of a text of two words", ["ordinary onion"] * 20, 1, 1),
        Case("copies of a text of four words", ["onions grow in gardens"] * 20, 1, 1),
        Case("different Chinese sentences stay", ["今天天气很好我们去公园", "他在图书馆里读一本书", "火车明天早上八点出发"], 3, 3),
        Case("Chinese text of 400, one character changed", ["".join(chinese), "".join([*chinese[:200], "的", *chinese[201:]])], 1, 1),
        Case("composed and decomposed accents", [unicodedata.normalize(form, accents) for form in ("NFC", "NFD")], 1, 1),
        Case("full-width letters", [" ".join(wide), " ".join(_wide(word) for word in wide)], 1, 1),
        Case("one word before 600", [" ".join(front), "zzz " + " ".join(front)], 1, 1),
        Case("tables of different numbers stay", digits, 20, 20),
        Case("2,000 copies", [" ".join(prose.some(300))] * 2000, 1, 1),
        Case("500 siblings of a template of 95 %", [" ".join([*template, *prose.some(30)]) for _ in range(500)], 1, 500),
        Case("chain of 41: more than one end stays", [" ".join(words) for words in chain], 2, 40),
        Case("empty texts do not take others along", [""] * 20 + [" ".join(prose.some(50))], 1, 21),
    ]
