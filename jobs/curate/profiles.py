"""silver.document_profiles: everything that is computed from a text alone, once, whatever the thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from jobs.context import JobContext, JobReport
from jobs.lake.types import spark_schema
from schemas.bronze.documents import DOCUMENTS as BRONZE
from schemas.conf import Curate
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from udfs.dedup.curve import resolved
from udfs.dedup.digest import DIGEST_SCHEME, digests
from udfs.dedup.kernel import normal_form
from udfs.dedup.minhash import MinHashScheme, key_lists, signatures
from udfs.dedup.sketches import stored
from udfs.language.identify import LANGUAGE_SCHEME, languages
from udfs.language.model import load_model, model_name
from udfs.pii.kinds import PII_SCHEME
from udfs.pii.mask import pii_columns
from udfs.quality.metrics import METRICS_SCHEME, document_metrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

JOB = "profile_documents"


def minhash_scheme(curate: Curate) -> MinHashScheme:
    """Shingling and banding as configured."""
    chosen = resolved(curate)
    return MinHashScheme(shingle=chosen.shingle, bands=chosen.bands, rows=chosen.rows)


def profile_scheme(curate: Curate) -> str:
    """Names and versions of all that goes into a profile."""
    language = f"{LANGUAGE_SCHEME}:{model_name(curate.language_model)}"
    return f"{METRICS_SCHEME} {language} {PII_SCHEME} {DIGEST_SCHEME} {minhash_scheme(curate).name}"


def profile(documents: DataFrame, curate: Curate) -> DataFrame:
    """Profiles of documents (doc_id, ingest_id, ingest_seq, text), columns as in ``DOCUMENT_PROFILES``."""
    minhash, scheme, kernel, wanted = minhash_scheme(curate), profile_scheme(curate), curate.kernel, DOCUMENT_PROFILES.schema

    model, stop_words = curate.language_model, curate.stop_words

    def profiled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            text = batch.column("text")
            form = normal_form(text, kernel)  # once, for it may cost more than all that follows
            spoken = languages(text, load_model(model))
            figures = document_metrics(text, kernel, stop_words, spoken.column("language").to_pylist())
            columns = {name: batch.column(name) for name in ("doc_id", "ingest_id", "ingest_seq")}
            for part in (figures, spoken, pii_columns(text)):
                columns |= dict(zip(part.schema.names, part.columns, strict=True))
            columns["digest"] = digests(form, kernel)
            minima, counts = signatures(form, minhash, kernel)
            columns["signature"] = stored(minima)
            columns["band_keys"] = key_lists(minima, counts, minhash)
            columns["scheme"] = pa.array([scheme] * batch.num_rows, pa.string())
            yield pa.RecordBatch.from_arrays([columns[name].cast(wanted.field(name).type) for name in wanted.names], names=wanted.names)

    narrow = documents.select("doc_id", "ingest_id", "ingest_seq", "text")
    return narrow.mapInArrow(profiled, spark_schema(wanted))


def profile_documents(context: JobContext, ingest_id: str) -> JobReport:
    """Fill the ingest's slice of silver.document_profiles; a job of its own, so that only texts and shingling make it stale."""
    curate = context.config.curate
    minhash = minhash_scheme(curate)
    settings = {"shingle": minhash.shingle, "bands": minhash.bands, "rows": minhash.rows, "stop_words": curate.stop_words}
    with context.open(
        JOB,
        f"ingest={ingest_id}",
        reads={BRONZE: [ingest_id]},
        writes={DOCUMENT_PROFILES: ingest_id},
        settings=settings,
        versions={"profile": profile_scheme(curate)},
    ) as run:
        if not run.done:
            written = run.write(DOCUMENT_PROFILES, lambda: profile(context.read(BRONZE, ingest_id), curate))
            run.count(input=written.rows, profiled=written.rows)
    return run.report()
