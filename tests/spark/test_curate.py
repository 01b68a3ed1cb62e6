"""curate_corpus: a verdict for every document, evidence for every removal, the same result whatever the partitions."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

from jobs import curate_corpus
from jobs.curate.near import near_duplicates
from jobs.curate.profiles import minhash_scheme
from jobs.lake.errors import MissingInputError
from schemas.bronze.documents import DOCUMENTS as BRONZE
from schemas.ids import content_id, uniform_from
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS
from tests.near_texts import edited, prose, shingles
from udfs.dedup.minhash import band_key_lists
from udfs.text.tokens import tokens

pytestmark = pytest.mark.spark


def jaccard(left, right):
    a, b = shingles(left), shingles(right)
    return len(a & b) / len(a | b)


def ingest(ctx, ingest_id, seq, texts):
    """A bronze slice as ingest_corpus would have written it; name -> doc_id."""
    ids = {name: content_id("t", name, text) for name, text in texts.items()}
    rows = [
        (ids[name], ingest_id, seq, "t", name, None, text, None, "{}", "f", position, ctx.now)
        for position, (name, text) in enumerate(texts.items())
    ]
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(BRONZE.schema, prefer_timestamp_ntz=False)
    with ctx.open("ingest_corpus", f"ingest={ingest_id}", reads={}, writes={BRONZE: ingest_id}) as job:
        job.write(BRONZE, lambda: ctx.spark.createDataFrame(rows, schema))
    return ids


def rows(ctx, table, key="doc_id"):
    return {row[key]: row for row in ctx.lake.delta(table).to_pyarrow_table().to_pylist()}


LONG = prose(1)
FIRST = {
    "base": " ".join([*LONG, "tail"]),  # one word more than its kin, so that it ranks before them
    "copy": " ".join(["  " + word.upper() for word in [*LONG, "tail"]]),
    "light": " ".join(edited(LONG, 3)),
    "heavy": " ".join(edited(LONG, 6)),
    "loud": "buy now " * 30,
    "tables": "| --- | --- | === " * 30 + " ".join(prose(2, 30)),
    "empty": "",
    "blank": " \n\u3000",
    "cat": "cat",
    "dog": "a totally different dog",
    "cat2": "Cat",
    "zh1": "\u6211\u4eec\u660e\u5929\u53bb\u516c\u56ed\u8d70\u8def\u3002",
    "zh2": "\u4ed6\u5728\u5317\u4eac\u5927\u5b66\u5b66\u4e60\u6570\u5b66\u3002",
    "zh3": "\u8fd9\u672c\u4e66\u7684\u4f5c\u8005\u662f\u4e00\u4f4d\u533b\u751f\u3002",
    "zh4": "\u6211\u4eec\u660e\u5929\u53bb\u516c\u56ed\u8d70\u8def!",  # as zh1 but for its last mark: the same tokens, another text
    "rejected_a": "\n".join(["the same line of boilerplate again"] * 40),
    "rejected_b": "\n".join(["the same line of boilerplate again"] * 40),
}  # fmt: skip
SECOND = {
    "light_again": " ".join(edited(LONG, 2)),
    "light_copy": " ".join(edited(LONG, 2)) + " ",
    "heavy_again": " ".join(edited(LONG, 6)) + " end",
    "fresh": " ".join(prose(3)),
}
CONF = ("curate.min_words=0", "curate.max_top_word_share=1.0")


def test_two_ingests_through_the_whole_job(make_context):
    ctx = make_context(*CONF)
    first = ingest(ctx, "one", 1, FIRST)
    report = curate_corpus.run(ctx, "one")
    verdicts = {name: rows(ctx, DOCUMENT_VERDICTS)[doc_id] for name, doc_id in first.items()}
    base, copy = sorted(("base", "copy"), key=first.get)  # equally good: the id decides
    assert {name: (v["state"], v["reason"]) for name, v in verdicts.items()} == {
        base: ("kept", "kept"),
        copy: ("duplicate", "exact_duplicate"),
        "light": ("duplicate", "near_duplicate"),
        "heavy": ("kept", "kept"),
        "loud": ("rejected", "repetition_5grams"),
        "tables": ("rejected", "symbols"),
        "empty": ("kept", "kept") if first["empty"] < first["blank"] else ("duplicate", "exact_duplicate"),
        "blank": ("kept", "kept") if first["blank"] < first["empty"] else ("duplicate", "exact_duplicate"),
        "cat": ("kept", "kept") if first["cat"] < first["cat2"] else ("duplicate", "exact_duplicate"),
        "cat2": ("kept", "kept") if first["cat2"] < first["cat"] else ("duplicate", "exact_duplicate"),
        "dog": ("kept", "kept"),
        "zh1": ("kept", "kept") if first["zh1"] < first["zh4"] else ("duplicate", "near_duplicate"),
        "zh2": ("kept", "kept"),
        "zh3": ("kept", "kept"),
        "zh4": ("kept", "kept") if first["zh4"] < first["zh1"] else ("duplicate", "near_duplicate"),
        "rejected_a": ("rejected", "repetition_lines"),
        "rejected_b": ("rejected", "repetition_lines"),
    }
    light = verdicts["light"]
    assert light["dup_of"] == first[base]
    # base has one shingle more than LONG (197): 196 - 15 = 181 shared, of 196 + 197 - 181 = 212.
    assert light["jaccard"] == pytest.approx(181 / 212) == pytest.approx(jaccard(FIRST["light"], FIRST["base"]))
    assert light["containment"] == pytest.approx(181 / 196)
    keys = dict(
        zip(
            ("light", "base"),
            band_key_lists(pa.array([FIRST["light"], FIRST["base"]]), minhash_scheme(ctx.config.curate)).to_pylist(),
            strict=True,
        )
    )
    assert light["bands_matched"] == sum(a == b for a, b in zip(keys["light"], keys["base"], strict=True)) > 0
    assert (verdicts[copy]["dup_of"], verdicts[copy]["jaccard"], verdicts[copy]["bands_matched"]) == (first[base], 1.0, 20)
    assert '"metric":"dup_line_share"' in verdicts["rejected_a"]["evidence"]
    assert report.counts["input"] == len(FIRST) == sum(n for reason, n in report.counts.items() if reason != "input")

    second = ingest(ctx, "two", 2, SECOND)
    with pytest.raises(MissingInputError, match=r"bronze\.documents holds nothing for three"):
        curate_corpus.run(ctx, "three")
    curate_corpus.run(ctx, "two")
    verdicts = {name: rows(ctx, DOCUMENT_VERDICTS)[doc_id] for name, doc_id in second.items()}
    near, again = sorted(("light_again", "light_copy"), key=second.get)
    assert {name: (v["reason"], v["dup_of"]) for name, v in verdicts.items()} == {
        near: ("near_duplicate", first[base]),  # never of "light", which was itself removed
        again: ("near_duplicate", first[base]),  # an exact copy of a near duplicate stands for it
        "heavy_again": ("near_duplicate", first["heavy"]),
        "fresh": ("kept", None),
    }
    assert f'"copy_of":"{second[near]}"' in verdicts[again]["evidence"]

    documents = rows(ctx, DOCUMENTS)
    everything = rows(ctx, DOCUMENT_VERDICTS)
    assert set(documents) == {doc_id for doc_id, v in everything.items() if v["state"] == "kept"}
    assert set(everything) == set(rows(ctx, BRONZE)) == set(rows(ctx, DOCUMENT_PROFILES))
    for doc_id, row in documents.items():
        assert row["cluster_id"] == doc_id
        assert row["split"] == ("eval" if uniform_from("split", doc_id) < 0.2 else "train")
    assert documents[first[base]]["text"] == FIRST[base]

    # Again: nothing to do. Another threshold: verdicts anew, profiles (the pass over texts) as they are.
    assert not curate_corpus.run(ctx, "one").did
    before = ctx.lake.delta(DOCUMENT_PROFILES).version()
    stricter = make_context(*CONF, "curate.jaccard=0.9")
    assert curate_corpus.run(stricter, "one").did
    assert rows(ctx, DOCUMENT_VERDICTS)[first["light"]]["state"] == "kept"
    assert ctx.lake.delta(DOCUMENT_PROFILES).version() == before


def crowd():
    """Pages of one template, groups of edited copies with J on both sides of the threshold, short and empty texts."""
    rng = random.Random(3)
    texts = {f"page{i:02}": " ".join([*prose(50, 300), *prose(100 + i, 8)]) for i in range(30)}
    for group in range(20):
        words = prose(1000 + group, 200)
        texts[f"g{group}"] = " ".join(words)
        texts |= {f"g{group}e{i}": " ".join(edited(words, rng.choice([0, 1, 2, 9]))) for i in range(rng.randint(0, 3))}
    return texts | {f"s{i}": f"short text {i}" for i in range(10)} | {"nothing": ""}


def removed(ctx, texts, *, parts, seed):
    """Near duplicates of ``texts``, dealt to ``parts`` partitions in an order of their own."""
    names = sorted(texts)
    random.Random(seed).shuffle(names)
    column = pa.array([texts[name] for name in names])
    keys = band_key_lists(column, minhash_scheme(ctx.config.curate), "numpy").to_pylist()
    pool = [((1, -len(tokens(texts[name])), name), found) for name, found in zip(names, keys, strict=True)]
    rank = "struct<ingest_seq:int,fewer_words:bigint,doc_id:string>"
    frame = ctx.spark.createDataFrame(pool, f"rank {rank}, band_keys array<bigint>").repartition(parts)
    contents = ctx.spark.createDataFrame([(name, texts[name]) for name in names], "doc_id string, text string").repartition(parts)
    return {row["doc_id"]: row.asDict() for row in near_duplicates(frame, contents, ctx.config.curate, 1).collect()}


def test_partitions_and_order_change_nothing(make_context):
    ctx, texts = make_context(), crowd()
    found = removed(ctx, texts, parts=1, seed=1)
    sets = {name: shingles(text) for name, text in texts.items()}
    assert len([name for name in found if name.startswith("page")]) == 29
    assert any(name.startswith("g") for name in found)
    for name, row in found.items():
        a, b = sets[name], sets[row["dup_of"]]
        assert row["dup_of"] not in found
        assert row["jaccard"] == pytest.approx(len(a & b) / len(a | b))
        assert row["jaccard"] >= 0.8
    kept = [name for name in texts if name not in found and sets[name]]
    assert all(len(sets[a] & sets[b]) < 0.8 * len(sets[a] | sets[b]) for a, b in itertools.combinations(kept, 2))
    assert removed(ctx, texts, parts=7, seed=2) == found
