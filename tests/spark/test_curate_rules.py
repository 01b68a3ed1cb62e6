"""Sets of rules, language and personal data: thresholds over columns, evidence in the verdict, a way back from a masked text."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from jobs import curate_corpus
from jobs.curate.heuristics import judge
from jobs.lake.types import spark_schema
from schemas.bronze.documents import DOCUMENTS as BRONZE
from schemas.ids import content_id
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS
from tests.lake_rows import filled
from udfs.pii.mask import decode_spans, source_span
from udfs.quality.metrics import document_metrics

pytestmark = pytest.mark.spark

PROSE = (
    "The harbour of the old town lies to the north of the river, and most of the houses that stand there have been built with stone from its quarry. "
    "In winter the ships stay in the bay until the ice has gone, and their crews work in the yards to earn what they need for the spring. "
    "Nobody has counted how many of them come back each year. Those who do are known by name, and they have a place to be with their friends."
)
CONTACT = PROSE + " Write to Ann Lee (ann.lee@harbour-office.org) or call +44 20 7946 0018 before the first of May."
GERMAN = "Der Hafen der alten Stadt liegt n\u00f6rdlich des Flusses, und die meisten H\u00e4user sind aus dem Stein gebaut, der dort im Bruch geschlagen worden ist."


def write(ctx, ingest_id, seq, texts):
    ids = {name: content_id("t", name, text) for name, text in texts.items()}
    rows = [
        filled(BRONZE, doc_id=ids[n], ingest_id=ingest_id, ingest_seq=seq, source="t", uri=n, text=text, metadata="{}", position=at)
        for at, (n, text) in enumerate(texts.items())
    ]
    frame = pa.Table.from_pylist(rows, schema=BRONZE.schema)
    with ctx.open("ingest_corpus", f"ingest={ingest_id}", reads={}, writes={BRONZE: ingest_id}) as job:
        job.write(BRONZE, lambda: ctx.spark.createDataFrame(frame, spark_schema(BRONZE.schema)))
    return ids


def rows(ctx, table):
    return {row["doc_id"]: row for row in ctx.lake.delta(table).to_pyarrow_table().to_pylist()}


def judged(ctx, texts, languages=None):
    """Verdicts of profiles alone: no text is there to be read."""
    figures = document_metrics(
        pa.array(texts.values()), "numpy", ctx.config.curate.stop_words, languages or ["en"] * len(texts)
    ).to_pylist()
    spoken = languages or ["en"] * len(texts)
    table = [
        filled(DOCUMENT_PROFILES, doc_id=name, **own, language=language, language_score=0.0 if language == "und" else 0.9)
        for name, own, language in zip(texts, figures, spoken, strict=True)
    ]
    frame = ctx.spark.createDataFrame(pa.Table.from_pylist(table, schema=DOCUMENT_PROFILES.schema), spark_schema(DOCUMENT_PROFILES.schema))
    return {row["doc_id"]: (row["rejected_for"], row["rejected_by"]) for row in judge(frame, ctx.config.curate).collect()}


def test_sets_of_rules_hold_only_where_they_are_named(make_context):
    texts = {
        "prose": PROSE,
        "menu": "\n".join(f"{word} shop" for word in PROSE.split()),
        "code": PROSE + " int main() { return 0; }",
        "dashes": "\n".join(f"- {line}." for line in PROSE.split(". ")),
        "short": "the cat and that dog have to be with us",
    }
    basic = judged(make_context(), texts)
    assert {name: why for name, (why, _) in basic.items()} == {**dict.fromkeys(texts), "short": "too_short"}
    web = judged(make_context("curate.rules=['gopher','c4','fineweb']", name="web"), texts)
    assert {name: why for name, (why, _) in web.items()} == {
        "prose": "c4_few_sentences",  # four sentences
        "menu": "gopher_dup_lines",  # "the shop", again and again
        "code": "c4_braces",
        "dashes": "gopher_bullets",
        "short": "gopher_too_short",
    }
    assert json.loads(web["code"][1]) == {"metric": "n_braces", "threshold": 0, "value": 1}
    loose = judged(make_context("curate.rules=['c4']", "curate.c4.min_full_sentences=4", name="loose"), texts)
    assert loose["prose"] == (None, None)
    assert judged(make_context("curate.rules=[]", name="none"), texts) == dict.fromkeys(texts, (None, None))


def test_the_language_rule_asks_only_where_languages_are_named_and_stop_words_only_where_there_is_a_list(make_context):
    texts, languages = {"en": PROSE, "de": GERMAN, "und": PROSE}, ["en", "de", "und"]
    named = judged(make_context("curate.languages=['en']"), texts, languages)
    assert {name: why for name, (why, _) in named.items()} == {"en": None, "de": "language", "und": "language"}
    assert json.loads(named["de"][1]) == {"metric": "language", "threshold": ["en"], "value": "de", "score": 0.9}
    strict = judged(make_context("curate.languages=['de','und']", "curate.min_language_score=0.95", name="strict"), texts, languages)
    assert {name: why for name, (why, _) in strict.items()} == {"en": "language", "de": "language_unsure", "und": None}
    gopher = judged(make_context("curate.rules=['gopher']", "curate.gopher.min_words=10", name="gopher"), texts, languages)
    assert gopher["de"] == (None, None), "English stop words are not asked of German"


def test_masked_in_silver_whole_in_bronze_and_a_duplicate_all_the_same(make_context):
    ctx = make_context()
    first = write(ctx, "one", 1, {"contact": CONTACT, "german": GERMAN, "plain": "A text of twenty words or more that says nothing of anybody: " * 1 + "one two three four five six seven eight nine ten eleven."})  # fmt: skip
    curate_corpus.run(ctx, "one")
    profiles, documents = rows(ctx, DOCUMENT_PROFILES), rows(ctx, DOCUMENTS)
    profile, kept = profiles[first["contact"]], documents[first["contact"]]
    assert (profile["language"], profiles[first["german"]]["language"]) == ("en", "de")
    assert [profile[f"n_{kind}"] for kind in ("email", "phone", "ip", "card", "key")] == [1, 1, 0, 0, 0]
    assert kept["text"] == PROSE + " Write to Ann Lee ([EMAIL]) or call [PHONE] before the first of May."
    assert (kept["n_chars"], profile["n_chars"]) == (len(kept["text"]), len(CONTACT))
    assert rows(ctx, BRONZE)[first["contact"]]["text"] == CONTACT
    spans = decode_spans(kept["masked"])
    assert [CONTACT[s.start : s.end] for s in spans] == ["ann.lee@harbour-office.org", "+44 20 7946 0018"]
    at = kept["text"].index("before the first")
    assert CONTACT[slice(*source_span(spans, at, at + 16))] == "before the first"
    assert (documents[first["german"]]["text"], documents[first["german"]]["masked"]) == (GERMAN, None)

    # A copy in a later ingest is compared with the text as received, whatever masking made of it.
    second = write(ctx, "two", 2, {"again": CONTACT + " Thanks."})
    curate_corpus.run(ctx, "two")
    verdict = rows(ctx, DOCUMENT_VERDICTS)[second["again"]]
    words = len(document_words(CONTACT))
    assert (verdict["reason"], verdict["dup_of"]) == ("near_duplicate", first["contact"])
    assert verdict["jaccard"] == pytest.approx((words - 4) / (words - 3))

    # Other thresholds and other masking: verdicts and texts anew, profiles as they are.
    before = ctx.lake.delta(DOCUMENT_PROFILES).version()
    other = make_context("curate.mask_pii=false", "curate.min_words=21")
    assert curate_corpus.run(other, "one").did
    assert rows(ctx, DOCUMENTS)[first["contact"]]["text"] == CONTACT
    assert rows(ctx, DOCUMENT_VERDICTS)[first["plain"]]["state"] == "kept"
    assert ctx.lake.delta(DOCUMENT_PROFILES).version() == before


def document_words(text):
    from udfs.text.tokens import tokens

    return tokens(text)
