"""Catch rate by kind of edit, false positives, and speed of decontamination, on real text.

    .venv/bin/python tests/benchmarks/contamination.py [--data ../shared/data] [--n 8] [--no-speed]

Items are paragraphs (XQuAD, WikiText-2: one of each article) and the questions of four public sets; they are planted in paragraphs of other
articles. Negatives are the other paragraphs of the same articles, and text that has nothing to do with a set. No assertion: a person reads
the figures.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from udfs.decontamination.adapters import read_items
from udfs.decontamination.index import build_index
from udfs.decontamination.items import Item
from udfs.decontamination.numba_find import Finder
from udfs.decontamination.rule import Rule
from udfs.decontamination.score import Matcher
from udfs.dedup.kernel import token_hashes
from udfs.dedup.minhash import MinHashScheme, band_key_lists
from udfs.text.tokens import tokens

SEED = 20260101
Edit = Callable[[str, random.Random], str]
Sample = tuple[str, Item]


def pieces(text: str) -> tuple[list[str], str]:
    """Words and what joins them; single characters of text without spaces."""
    return (list(text), "") if len(text) > 12 * len(text.split()) else (text.split(), " ")


def words_changed(share: float) -> Edit:
    """Replace this share of the words, at least one, each by another word of the text."""

    def edit(text: str, rng: random.Random) -> str:
        words, joint = pieces(text)
        for at in rng.sample(range(len(words)), max(1, round(share * len(words)))):
            words[at] = rng.choice(words) + ("x" if joint else "")
        return joint.join(words)

    return edit


def words_moved(share: float) -> Edit:
    """Drop or insert a word, half of each, for this share of the words."""

    def edit(text: str, rng: random.Random) -> str:
        words, joint = pieces(text)
        for _ in range(max(1, round(share * len(words)))):
            at = rng.randrange(len(words))
            words[at : at + 1] = [] if rng.random() < 0.5 and len(words) > 1 else [words[at], "also"]
        return joint.join(words)

    return edit


def rewrapped(text: str, _: random.Random) -> str:
    words = text.split()
    return "\n".join(" ".join(words[i : i + 8]) for i in range(0, len(words), 8))


def shouted(text: str, rng: random.Random) -> str:
    marks = {c for c in text if unicodedata.category(c)[0] in "PS"}
    return "".join(rng.choice([" ", " - ", "... "]) if c in marks else c for c in text.upper())


def interleaved(text: str, rng: random.Random) -> str:
    """A sentence of filler after each sentence."""
    filler = "This remark has nothing to do with it and only fills the page between two sentences."
    return re.sub(r"(?<=[.?!。]) *", lambda _: f" {rng.choice('ABCD')}: {filler} ", text)


EDITS: dict[str, Edit] = {
    "verbatim": lambda text, _: text,
    "lines of 8 words": rewrapped,
    "case, punctuation": shouted,
    "filler between": interleaved,
    "2 % of words": words_changed(0.02),
    "5 % of words": words_changed(0.05),
    "5 % dropped, added": words_moved(0.05),
    "10 % of words": words_changed(0.10),
}


def planted(text: str, hosts: Sequence[str], rng: random.Random) -> str:
    return f"{rng.choice(hosts)}\n{text}\n{rng.choice(hosts)}"


def caught(matcher: Matcher, samples: Sequence[Sample]) -> float:
    """Share of texts in which the item that was planted is found."""
    found = matcher(pa.array([text for text, _ in samples], pa.string())).found
    ids = {(m.row, matcher.index.item_ids[int(matcher.index.item[m.field])]) for m in found}
    return sum((row, item.item_id) in ids for row, (_, item) in enumerate(samples)) / max(1, len(samples))


def hits(matcher: Matcher, texts: Sequence[str]) -> list[tuple[str, str]]:
    """(text, item) of every match."""
    found = matcher(pa.array(texts, pa.string())).found
    return [(texts[m.row], f"{matcher.index.item_ids[int(matcher.index.item[m.field])]} {m.part} {m.coverage:.2f}") for m in found]


def wikitext(folder: Path) -> list[list[str]]:
    """Paragraphs by article."""
    articles: list[list[str]] = [[]]
    for line in (folder / "corpus" / "wikitext2-valid.txt").read_text("utf-8").split("\n"):
        said = line.strip()
        if re.fullmatch(r"= [^=].* =", said):
            articles.append([])
        elif said and not said.startswith("="):
            articles[-1].append(said)
    return [a for a in articles if len(a) > 3]


def xquad(folder: Path, language: str) -> list[list[dict[str, object]]]:
    """Paragraphs with their questions by article."""
    data = json.loads((folder / "xquad" / f"xquad.{language}.json").read_text("utf-8"))
    return [article["paragraphs"] for article in data["data"]]


def rates(name: str, items: Sequence[Item], hosts: Sequence[str], negatives: Sequence[str], rule: Rule) -> None:
    matcher = Matcher(build_index([(name, items)], rule), "numpy")
    rng = random.Random(SEED)
    sizes = sorted(len(tokens(item.question)) for item in items)
    print(
        f"\n{name}: {len(items)} items, {sizes[0]}..{sizes[len(sizes) // 2]}..{sizes[-1]} tokens; not matchable: {matcher.index.unmatched or 'none'}"
    )
    for kind, edit in EDITS.items():
        samples = [(planted(edit(item.question, rng) + ("\n" + item.answer if item.answer else ""), hosts, rng), item) for item in items]
        print(f"  {kind:<20} caught {caught(matcher, samples):.3f}")
    answers = [item for item in items if len(tokens(item.solution)) >= rule.n]
    if answers:
        print(
            f"  {'solution alone':<20} caught {caught(matcher, [(planted(i.solution, hosts, rng), i) for i in answers]):.3f} of {len(answers)}"
        )
    if negatives:
        wrong = hits(matcher, negatives)
        print(
            f"  unrelated texts      caught {len({t for t, _ in wrong}) / len(negatives):.4f} of {len(negatives)} {[i for _, i in wrong][:8]}"
        )


def speed(folder: Path, n: int) -> None:
    text = (folder / "corpus" / "wikitext2-valid.txt").read_text("utf-8") + (folder / "corpus" / "shakespeare.txt").read_text("utf-8")
    plain = text.encode("ascii", "ignore").decode()
    column = pa.array([plain[i : i + 4000] for i in range(0, len(plain), 4000)] * 12, pa.string())
    size = sum(map(len, column.to_pylist())) / 1e6
    draw = np.random.default_rng(SEED)
    grams = np.unique(draw.integers(0, 2**64, 5_000_000, dtype=np.uint64))
    finder = Finder(n, grams, np.zeros(len(grams), np.int32), draw.integers(0, 2**64, 64, dtype=np.uint64))
    scheme = MinHashScheme(shingle=5, bands=20, rows=6)
    best = {"tokens": 0.0, "tokens + lookup": 0.0, "signatures": 0.0}
    for attempt in range(6):
        marks = [time.process_time()]
        held, _, offsets = token_hashes(column, "numba")
        marks.append(time.process_time())
        finder(held, offsets)
        marks.append(time.process_time())
        band_key_lists(column, scheme, "numba")
        marks.append(time.process_time())
        spent = (marks[1] - marks[0], marks[2] - marks[0], marks[3] - marks[2])
        for name, seconds in zip(best, spent, strict=True):
            best[name] = max(best[name], size / seconds) if attempt else 0.0  # the first run compiles
    print(
        f"\nspeed, one core, {size:.0f} MB, {len(grams):,} n-grams: " + ", ".join(f"{name} {rate:.0f} MB/s" for name, rate in best.items())
    )


def public(folder: Path) -> list[tuple[str, list[Item]]]:
    sets = (
        ("gsm8k", "gsm8k/test.jsonl"),
        ("math", "math500/problems.jsonl"),
        ("humaneval", "humaneval/HumanEval.jsonl"),
        ("mbpp", "mbpp/mbpp.jsonl"),
    )
    return [(name, read_items(folder / path, name)) for name, path in sets]  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[3] / "shared" / "data")
    parser.add_argument("--corpus", type=Path, help="further JSONL files with a field text: texts that no set was made from")
    parser.add_argument("--n", type=int, default=8)
    parser.add_argument("--no-speed", action="store_true")
    args = parser.parse_args()
    rule, folder = Rule(n=args.n), args.data
    wiki, quad = wikitext(folder), xquad(folder, "en")
    hosts = [p for article in wiki[len(wiki) // 2 :] for p in article if len(p) > 200]
    first = [[p for p in article if len(tokens(p)) >= 30] for article in wiki[: len(wiki) // 2]]
    rates("WikiText-2 paragraphs", [Item(str(n), a[0]) for n, a in enumerate(first) if a], hosts, [p for a in first for p in a[1:]], rule)
    items = [Item(str(n), str(article[0]["context"])) for n, article in enumerate(quad)]
    rest = [str(p["context"]) for article in quad for p in article[1:]]
    rates("XQuAD paragraphs", items, hosts, rest, rule)
    matcher = Matcher(build_index([("xquad", items)], rule), "numpy")
    for language in ("de", "th", "zh"):
        other = [str(article[0]["context"]) for article in xquad(folder, language)]
        print(f"  {'translated: ' + language:<20} caught {caught(matcher, list(zip(other, items, strict=True))):.3f}")
    for language in ("th", "zh"):
        articles = xquad(folder, language)
        theirs = [Item(str(n), str(article[0]["context"])) for n, article in enumerate(articles)]
        rates(f"XQuAD paragraphs, {language}", theirs, hosts, [str(p["context"]) for a in articles for p in a[1:]], rule)
    asked = [
        Item(str(q["id"]), q["question"], q["answers"][0]["text"]) for article in quad for p in article for q in p["qas"]  # type: ignore[attr-defined]
    ]  # fmt: skip
    contexts = [str(p["context"]) for article in quad for p in article]
    rates("XQuAD questions, in English, with their answers", asked, hosts, contexts, rule)
    plays = (folder / "corpus" / "shakespeare.txt").read_text("utf-8").split("\n\n")
    unrelated = [p for article in wiki for p in article] + plays + contexts
    if args.corpus:
        unrelated += [
            json.loads(line)["text"] for path in sorted(args.corpus.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
        ]
    for name, held in public(folder):
        rates(name, held, hosts, unrelated, rule)
    if not args.no_speed:
        speed(folder, args.n)


if __name__ == "__main__":
    main()
