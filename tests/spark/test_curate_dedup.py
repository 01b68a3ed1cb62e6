"""De-duplication on Spark beyond one run: across ingests, by components, by other keep-rules, with stored signatures."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from jobs import curate_corpus
from jobs.curate.near import TooManyEdgesError, near_duplicates
from jobs.curate.profiles import minhash_scheme
from jobs.curate.ranks import RANK_COLUMNS, rank
from jobs.dedup_files import fold
from schemas.bronze.documents import DOCUMENTS as BRONZE
from schemas.ids import content_id
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS
from tests.near_texts import edited, prose
from udfs.dedup import corpus
from udfs.dedup.leader import Rule
from udfs.dedup.minhash import band_key_lists, signatures
from udfs.dedup.sketches import minima_of

pytestmark = pytest.mark.spark


def crowd():
    """Pages of one template, groups of edited copies on both sides of the threshold, exact copies."""
    rng = random.Random(3)
    texts = {f"page{i:02}": " ".join([*prose(50, 300), *prose(100 + i, 8)]) for i in range(20)}
    for group in range(15):
        words = prose(1000 + group, 200)
        texts[f"g{group}"] = " ".join(words)
        texts |= {f"g{group}e{i}": " ".join(edited(words, rng.choice([0, 1, 2, 3, 9]))) for i in range(rng.randint(1, 4))}
    return texts


def ingest(ctx, ingest_id, seq, texts):
    """A bronze slice as ingest_corpus would have written it; name -> doc_id."""
    ids = {name: content_id("t", name, text) for name, text in texts.items()}
    values = {"ingest_id": ingest_id, "ingest_seq": seq, "source": "t", "metadata": "{}", "path": "f", "fetched_at": ctx.now}
    rows = []
    for position, (name, text) in enumerate(texts.items()):
        known = values | {"doc_id": ids[name], "uri": name, "text": text, "position": position}
        rows.append(
            tuple(known.get(column.name, ctx.now if str(column.type).startswith("timestamp") else None) for column in BRONZE.schema)
        )
    schema = from_arrow_schema(BRONZE.schema, prefer_timestamp_ntz=False)
    with ctx.open("ingest_corpus", f"ingest={ingest_id}", reads={}, writes={BRONZE: ingest_id}) as job:
        job.write(BRONZE, lambda: ctx.spark.createDataFrame(rows, schema))
    return ids


def rows(ctx, table):
    return {row["doc_id"]: row for row in ctx.lake.delta(table).to_pyarrow_table().to_pylist()}


def one_big_run(ctx, parts):
    """Kept doc_ids and removed -> kept, by the arrays' core, earlier ingests first, then length, then id."""
    curate, scheme = ctx.config.curate, minhash_scheme(ctx.config.curate)
    found = [(seq, content_id("t", name, text), text) for seq, part in enumerate(parts) for name, text in part.items()]
    column = pa.array([text for _, _, text in found])
    profiles = corpus.profile(column, scheme, "numpy")
    order = sorted(range(len(found)), key=lambda i: (found[i][0], -int(profiles.tokens[i]), found[i][1]))
    place = np.empty(len(found), np.int64)
    place[order] = np.arange(len(found))
    twin = corpus.exact_twins(profiles, place)
    members, component = corpus.units(profiles, np.flatnonzero(twin == np.arange(len(twin))), place)
    sets = corpus.shingle_sets(column, scheme.shingle, "numpy")
    rule = Rule(curate.jaccard, 1 + curate.verify_rounds, curate.shingle)
    near = [
        (row, kept, why.similarity.jaccard, why.similarity.containment)
        for row, kept, why in corpus.near_duplicates(members, component, profiles, lambda row: sets[row], rule, "numpy")
    ]
    gone = set(fold(twin, near).row.tolist())
    return {found[i][1] for i in range(len(found)) if i not in gone}


def test_three_ingests_keep_what_one_big_run_keeps(make_context):
    ctx, texts = make_context(), crowd()
    names = sorted(texts)
    random.Random(8).shuffle(names)
    parts = [{name: texts[name] for name in names[i::3]} for i in range(3)]
    kept_before: set[str] = set()
    for seq, part in enumerate(parts):
        ingest(ctx, f"i{seq}", seq, part)
        curate_corpus.run(ctx, f"i{seq}")
        kept = set(rows(ctx, DOCUMENTS))
        assert kept_before <= kept  # what was kept stays kept
        kept_before = kept
    verdicts = rows(ctx, DOCUMENT_VERDICTS)
    assert kept_before == one_big_run(ctx, parts)
    assert len(verdicts) == len(texts)
    assert 20 < len(kept_before) < len(texts) - 20
    for row in verdicts.values():
        assert row["state"] == "kept" or (row["dup_of"] in kept_before and row["jaccard"] >= 0.8)
    # The signature of every profile is that of its text, as datasketch would have it.
    profiles, received = rows(ctx, DOCUMENT_PROFILES), rows(ctx, BRONZE)
    order = sorted(profiles)[:20]
    minima, _ = signatures(pa.array([received[doc_id]["text"] for doc_id in order]), minhash_scheme(ctx.config.curate))
    assert all(np.array_equal(minima_of(profiles[doc_id]["signature"]), wanted) for doc_id, wanted in zip(order, minima, strict=True))


def frames(ctx, texts, seq=lambda _name: 1):
    keys = band_key_lists(pa.array(list(texts.values())), minhash_scheme(ctx.config.curate), "numpy").to_pylist()
    pool = [((seq(name), -len(text.split()), name), found) for (name, text), found in zip(texts.items(), keys, strict=True)]
    frame = ctx.spark.createDataFrame(pool, "rank struct<ingest_seq:int,fewer_words:bigint,doc_id:string>, band_keys array<bigint>")
    return frame, ctx.spark.createDataFrame(list(texts.items()), "doc_id string, text string")


def test_components_follow_chains_and_refuse_what_the_driver_may_not_hold(make_context):
    words = prose(9, 200)
    texts = {f"d{i}": " ".join(words[10 * i : 10 * i + 100]) for i in range(8)} | {"alone": " ".join(prose(10))}
    ctx = make_context("curate.mode=components", "curate.bands=60", "curate.rows=2")
    found = {row["doc_id"]: row.asDict() for row in near_duplicates(*frames(ctx, texts), ctx.config.curate, 1).collect()}
    assert {name: row["dup_of"] for name, row in found.items()} == {f"d{i}": "d0" for i in range(1, 8)}
    assert [found[f"d{i}"]["jaccard"] for i in range(1, 8)] == [pytest.approx((96 - 10 * i) / (96 + 10 * i)) for i in range(1, 8)]
    curate = ctx.config.curate.model_copy(update={"max_edges": 3})
    with pytest.raises(TooManyEdgesError, match=r"candidate pairs exceed curate.max_edges = 3 .* use curate.mode = 'verified'"):
        near_duplicates(*frames(ctx, texts), curate, 1)


def test_the_keep_rule_is_a_total_order_from_conf(make_context):
    columns = dict.fromkeys(RANK_COLUMNS)
    assert set(columns) >= {"doc_id", "ingest_seq", "source", "n_words"}
    documents = [  # doc_id, ingest_seq, source, n_words, symbol_ratio, dup_line_share, dup_5gram_share
        ("a", 2, "web", 10, 0.1, 0.0, 0.0), ("b", 2, "wiki", 9, 0.2, 0.0, 0.0), ("c", 2, "forum", 9, 0.0, 0.0, 0.05),
        ("d", 1, "forum", 1, 0.9, 0.9, 0.9), ("e", 2, "wiki", 9, 0.2, 0.0, 0.0),
    ]  # fmt: skip
    ctx = make_context()
    frame = ctx.spark.createDataFrame(
        documents,
        "doc_id string, ingest_seq int, source string, n_words long, symbol_ratio double, dup_line_share double, dup_5gram_share double",
    )
    base = ctx.config.curate

    def order(*keep, sources=()):
        curate = base.model_copy(update={"keep": keep, "source_priority": sources})
        return "".join(row["rank"]["doc_id"] for row in frame.select(rank(curate)).orderBy("rank").collect())

    assert order("earlier_ingest", "length", "id") == "dabce"
    assert order("earlier_ingest", "id") == "dabce"
    assert order("earlier_ingest", "quality", "id") == "dcabe"
    assert order("earlier_ingest", "source_priority", "length", "id", sources=("wiki", "web")) == "dbeac"  # forum is not listed: last
