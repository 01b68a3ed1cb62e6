"""Curate one ingest: heuristics, then exact duplicates, then near duplicates; a verdict for every document.

The order matters: only what passes the heuristics may stay, so only that takes part in de-duplication, and a rejected document is never
the survivor of a group. Exact copies go next, so that boilerplate repeated a million times reaches no MinHash bucket.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from jobs.care.selection import marks
from jobs.context import JobContext, JobReport, JobRun
from jobs.curate.exact import exact_twins
from jobs.curate.heuristics import judge
from jobs.curate.ingests import earlier_ingests
from jobs.curate.masking import mask_documents
from jobs.curate.near import near_duplicates
from jobs.curate.profiles import minhash_scheme, profile_documents, profile_scheme
from jobs.curate.ranks import RANK_COLUMNS, rank
from jobs.curate.takedowns import refuse_taken_down
from jobs.curate.verdicts import verdicts
from jobs.decontaminate import documents_refused, refuse_documents
from schemas.bronze.documents import DOCUMENTS as BRONZE
from schemas.conf import Curate
from schemas.ids import uniform_from
from schemas.silver.document_profiles import DOCUMENT_PROFILES
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS
from udfs.dedup.curve import describe_curve
from udfs.quality.rules import RULES_SCHEME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

JOB = "curate_corpus"
_LOG = logging.getLogger("verilake.jobs")


def curate_scheme(curate: Curate) -> str:
    """Names and versions of everything a verdict depends on beside thresholds."""
    return f"{RULES_SCHEME} {profile_scheme(curate)}"


def run(context: JobContext, ingest_id: str) -> JobReport:
    """Curate one ingest against all earlier ones.

    Args:
        context: workspace, configuration, session.
        ingest_id: slice of bronze.documents.

    Raises:
        MissingInputError: the ingest is unknown, or an earlier one is not curated yet.
    """
    curate = context.config.curate
    earlier = earlier_ingests(context.lake, ingest_id)
    for name in (*earlier, ingest_id):
        profile_documents(context, name)
    with context.open(
        JOB,
        f"ingest={ingest_id}",
        reads={BRONZE: [ingest_id], DOCUMENT_PROFILES: [*earlier, ingest_id], DOCUMENTS: earlier, **documents_refused(context, ingest_id)},
        writes={DOCUMENT_VERDICTS: ingest_id, DOCUMENTS: ingest_id},
        # Kernels agree bit for bit: which one ran is no part of the result.
        settings=curate.model_dump(mode="json", exclude={"kernel"}),
        versions={"scheme": curate_scheme(curate)},
    ) as job:
        if not job.done:
            minhash = minhash_scheme(curate)
            _LOG.info("%s ingest=%s: %s", JOB, ingest_id, describe_curve(minhash.bands, minhash.rows))
            job.write(DOCUMENT_VERDICTS, lambda: decide(context, ingest_id, earlier))
            job.write(DOCUMENTS, lambda: kept_documents(context, job, ingest_id))
            job.count(**funnel(job.read_written(DOCUMENT_VERDICTS)))
    return job.report()


def decide(context: JobContext, ingest_id: str, earlier: list[str]) -> DataFrame:
    """Verdicts of one ingest."""
    curate = context.config.curate
    new, old, ingest_seq = context.read(BRONZE, ingest_id), _kept_before(context, earlier), _ordinal(context, ingest_id)
    profiled = judge(context.read(DOCUMENT_PROFILES, ingest_id), curate).join(new.select("doc_id", "source", "uri"), "doc_id")
    # Not part of the fingerprint: tombstones only grow, and what was curated before one is set aside by the takedown itself.
    judged = refuse_taken_down(refuse_documents(context, profiled, ingest_id), marks(context.lake)).drop("uri")
    passed = judged.where(F.col("rejected_for").isNull()).select(rank(curate), "digest", "band_keys")
    pool = passed.unionByName(old.select(rank(curate), "digest", "band_keys"))
    twins = exact_twins(pool)
    unique = pool.join(twins.select("doc_id"), F.col("rank.doc_id") == F.col("doc_id"), "left_anti")
    texts = new.select("doc_id", "text").unionByName(old.select("doc_id", "text"))
    near = near_duplicates(unique, texts, curate, ingest_seq)
    return verdicts(judged, twins, near, curate, curate_scheme(curate))


def kept_documents(context: JobContext, job: JobRun, ingest_id: str) -> DataFrame:
    """silver.documents of one ingest: text and metrics of what its written verdicts keep."""
    kept = job.read_written(DOCUMENT_VERDICTS).where("state = 'kept'").select("doc_id")
    carried = [
        name for name in DOCUMENT_PROFILES.schema.names if name in DOCUMENTS.schema.names and name not in ("ingest_id", "ingest_seq")
    ]
    figures = context.read(DOCUMENT_PROFILES, ingest_id).select(*carried, "pii_spans")
    share = context.config.curate.eval_share

    def split_of(clusters: pa.Array) -> pa.Array:
        return pa.array(["eval" if uniform_from("split", c) < share else "train" for c in clusters.to_pylist()], pa.string())

    split = F.arrow_udf(split_of, "string")

    received = context.read(BRONZE, ingest_id).join(kept, "doc_id", "left_semi").join(figures, "doc_id")
    return (
        mask_documents(received, context.config.curate)
        .withColumn("cluster_id", F.col("doc_id"))
        .withColumn("split", split("cluster_id"))
        .select(*DOCUMENTS.schema.names)
    )


def funnel(decided: DataFrame) -> dict[str, int]:
    """Documents by reason; ``input`` is their sum."""
    rows = decided.groupBy("reason").count().orderBy("reason").collect()
    counts = {row["reason"]: int(row["count"]) for row in rows}
    return {"input": sum(counts.values()), **counts}


def _kept_before(context: JobContext, earlier: list[str]) -> DataFrame:
    """Documents that earlier ingests kept, with their profiles; an empty frame where there were none.

    Texts are compared as received: what masking did to a kept one makes it no less a duplicate.
    """
    columns = (*RANK_COLUMNS, "text", "digest", "band_keys")
    names = earlier or [""]  # no ingest has an empty name: the frame is empty but typed
    profiles = context.read(DOCUMENT_PROFILES, *names).select("doc_id", "digest", "band_keys")
    texts = context.read(BRONZE, *names).select("doc_id", "text")
    return context.read(DOCUMENTS, *names).drop("text").join(texts, "doc_id").join(profiles, "doc_id").select(*columns)


def _ordinal(context: JobContext, ingest_id: str) -> int:
    found = context.read(BRONZE, ingest_id).select("ingest_seq").first()
    return int(found["ingest_seq"]) if found is not None else 0


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("curate")
