"""admit_tasks: the candidates of one ingest -> a verdict for each, and tasks with their prompts for those that pass.

Each candidate is checked by itself against its document, then against the corpus as it was received (does its question fit another
sentence?), against all other questions, and at last against the base rate of its answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.admit.checked import check, with_windows
from jobs.admit.figures import contract_errors, shares, siblings
from jobs.admit.grouped import base_rates, collisions, corpus_patterns, earlier_keys, repeated_questions
from jobs.admit.pool import prompts, tasks
from jobs.care.retire import set_aside
from jobs.care.selection import tombstoned
from jobs.context import JobContext, JobReport, JobRun
from jobs.decontaminate import questions_refused, refuse_questions
from jobs.lake.types import spark_schema
from jobs.sources.added import added_ingests
from schemas.bronze.documents import DOCUMENTS as RECEIVED
from schemas.conf import Admit
from schemas.errors import VerilakeError
from schemas.gold.prompts import PROMPTS
from schemas.gold.tasks import TASKS
from schemas.silver.documents import DOCUMENTS
from schemas.silver.qa import QA
from schemas.silver.qa_verdicts import QA_VERDICTS
from udfs.admission.checks import RULES_VERSION
from udfs.admission.rules import RULES
from udfs.admission.verdicts import verdict_batches
from udfs.coding.rewards import VERIFIER as CODE_VERIFIER
from udfs.coding.rewards import VERSION as CODE_VERSION
from udfs.extract import VERSION as EXTRACT_VERSION
from udfs.grading import VERIFIER, VERSION
from udfs.prompts import template_versions
from udfs.sources.prompts import template_versions as added_template_versions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SplitClusterError(VerilakeError):
    """A near-duplicate cluster lies on both sides of the split: training would see what evaluation asks."""

    @classmethod
    def from_cluster(cls, cluster_id: str) -> SplitClusterError:
        """Which cluster."""
        return cls(
            f"cluster {cluster_id} has candidates in train and in eval. Run `verilake curate` and `verilake convert` again for its ingests."
        )


def run(ctx: JobContext, ingest_id: str) -> JobReport:
    """Admit one ingest's candidates.

    Args:
        ctx: context.
        ingest_id: the ingest; those before it must be admitted already, for theirs are the questions that count as asked.

    Raises:
        MissingInputError: the ingest is not converted yet, or an earlier one not admitted.
        SplitClusterError: a cluster lies on both sides of the split.
    """
    before = earlier_ingests(ctx, ingest_id)
    origin = f"ingest={ingest_id}"
    with ctx.open(
        "admit_tasks", origin,
        reads={
            QA: [ingest_id], DOCUMENTS: [ingest_id], RECEIVED: [*before, ingest_id], TASKS: [f"ingest={other}" for other in before],
            **questions_refused(ctx, ingest_id),
        },
        writes={QA_VERDICTS: ingest_id, TASKS: origin, PROMPTS: origin},
        settings=ctx.config.admit,
        versions={"rules": RULES_VERSION, "patterns": EXTRACT_VERSION, VERIFIER: VERSION, **template_versions(), **_of_added(ctx, ingest_id)},
    ) as job:  # fmt: skip
        if not job.done:
            _admit(ctx, job, ingest_id, before, origin)
    return job.report()


def earlier_ingests(ctx: JobContext, ingest_id: str) -> list[str]:
    """Ingests with documents that came before this one, in their order; one that is run again keeps its place."""
    ordered = ctx.lake.order(RECEIVED)
    filled = {name for name, commit in ctx.lake.slices(RECEIVED).items() if commit.rows > 0}
    place = ordered.index(ingest_id) if ingest_id in ordered else len(ordered)
    return [name for name in ordered[:place] if name in filled]


def _of_added(ctx: JobContext, ingest_id: str) -> dict[str, str]:
    """What else the tasks of added sources depend on."""
    return {CODE_VERIFIER: CODE_VERSION, **added_template_versions()} if ingest_id in added_ingests(ctx.lake) else {}


def _admit(ctx: JobContext, job: JobRun, ingest_id: str, before: list[str], origin: str) -> None:
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    conf = ctx.config.admit
    pool = ctx.read(TASKS, *(f"ingest={other}" for other in before)) if before else ctx.read(TASKS).limit(0)
    _refuse_split_clusters(ctx.read(QA, ingest_id), pool)
    items = with_windows(ctx.read(QA, ingest_id), ctx.read(DOCUMENTS, ingest_id))
    # On disk: read by every grouped check, and each check of a candidate is paid once.
    tried = check(items, max_near_misses=conf.max_near_misses, allow_weak_sandbox=ctx.config.sandbox.allow_weak)
    checked = refuse_questions(ctx, tried, ingest_id).persist(StorageLevel.DISK_ONLY)
    earlier = earlier_keys(pool).persist(StorageLevel.DISK_ONLY)
    # Found once: it reads the whole corpus, and is joined twice.
    found = collisions(checked, corpus_patterns(ctx.read(RECEIVED, *before, ingest_id))).persist(StorageLevel.DISK_ONLY)
    try:
        job.write(QA_VERDICTS, lambda: verdicts(checked, found, earlier, conf))
        states = job.read_written(QA_VERDICTS).select("qa_id", "state")
        admitted = checked.join(states.where("state = 'admitted'").select("qa_id"), "qa_id", "left_semi")
        job.write(TASKS, lambda: set_aside(tasks(admitted, origin, ctx.read(DOCUMENTS, ingest_id)), tombstoned(ctx.lake)))
        windows = checked.select("qa_id", "window", "window_start", "n_chars")
        job.write(PROMPTS, lambda: prompts(job.read_written(TASKS), windows, earlier, forms=conf.forms, n_options=conf.choice_options))
        reasons = {row["reason"]: row["count"] for row in job.read_written(QA_VERDICTS).groupBy("reason").count().collect()}
        forms = {row["form"]: row["count"] for row in job.read_written(PROMPTS).groupBy("form").count().collect()}
        splits = {row["split"]: row["count"] for row in job.read_written(TASKS).groupBy("split").agg(F.count("*").alias("count")).collect()}
        admitted_count = reasons.pop("admitted", 0)
        errors = [row.asDict() for row in contract_errors(checked).collect()]
        erred = {
            f"contract_{name}": {row["answer_type"]: row[name] for row in errors} for name in ("right", "refused", "wrong", "accepted")
        }
        answered = job.read_written(QA_VERDICTS).where("get_json_object(probes, '$.siblings.answered_by') IS NOT NULL").count()
        job.count(
            input=checked.count(), admitted=admitted_count, rejected=dict(sorted(reasons.items())), tasks=dict(sorted(splits.items())),
            prompts=dict(sorted(forms.items())), answered_by_siblings=answered, **erred,
        )  # fmt: skip
    finally:
        for frame in (found, checked, earlier):
            frame.unpersist()


def verdicts(checked: DataFrame, collided: DataFrame, earlier: DataFrame, conf: Admit) -> DataFrame:
    """Rows of silver.qa_verdicts, one for every candidate: each grouped check sees what the checks before it let pass."""
    from pyspark.sql import functions as F

    def lenient(finding: str) -> list[str]:
        return [engine for engine, rules in RULES.items() if not getattr(rules, finding)]

    colliding = checked.where(~F.col("engine").isin(lenient("collision"))).join(collided, "qa_id", "left_semi")
    passing = checked.where("row_reason IS NULL").join(colliding.select("qa_id"), "qa_id", "left_anti")
    asked = repeated_questions(passing, earlier)
    unasked = passing.join(asked.select("qa_id"), "qa_id", "left_anti")
    rated = base_rates(unasked, earlier, conf)
    kept = unasked.join(rated, "qa_id").where(F.col("engine").isin(lenient("base_rate")) | (F.col("base_rank") <= F.col("base_cap")))
    outcomes = (
        checked.drop("window", "window_start", "n_chars", "licence")
        .join(collided, "qa_id", "left").join(asked, "qa_id", "left").join(rated, "qa_id", "left")
        .join(shares(unasked, earlier), "qa_id", "left")
        .join(siblings(kept, earlier, reject=conf.sibling_leak == "reject"), "qa_id", "left")
    )  # fmt: skip
    return outcomes.mapInArrow(verdict_batches, spark_schema(QA_VERDICTS.schema))


def _refuse_split_clusters(qa: DataFrame, pool: DataFrame) -> None:
    from pyspark.sql import functions as F

    sides = qa.select("cluster_id", "split").unionByName(pool.select("cluster_id", "split")).groupBy("cluster_id")
    torn = sides.agg(F.min("split").alias("a"), F.max("split").alias("b")).where("a != b").select(F.min("cluster_id")).first()
    if torn is not None and torn[0] is not None:
        raise SplitClusterError.from_cluster(torn[0])


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("admit")
