"""decontaminate: documents, candidate questions and training tasks held against the benchmark sets in force, and what a match reached.

Curation and admission call it for their own ingest, so that what holds an item is rejected there. ``verilake decontaminate`` looks back:
which documents, tasks, rounds, published sets and checkpoints have met an item that was added, or revised, since. Closed rounds stay as
they are. Where no set was added nothing is read, written or started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobs.care.retire import next_versions
from jobs.context import JobContext, JobReport
from jobs.decontamination.affected import Affected, survey
from jobs.decontamination.benchmarks import OWN, in_force, load
from jobs.decontamination.screen import REASON, matches, refuse, rule_of
from jobs.plan.candidates import in_force as newest
from jobs.sources.added import added_ingests
from schemas.bronze.benchmark_items import BENCHMARK_ITEMS
from schemas.bronze.documents import DOCUMENTS
from schemas.gold.tasks import TASKS
from schemas.ids import content_id
from schemas.silver.contamination import CONTAMINATION
from schemas.silver.qa import QA
from schemas.table import Table
from udfs.decontamination.index import build_index
from udfs.decontamination.items import Item, version_of
from udfs.decontamination.rule import SCHEME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

JOB = "decontaminate"
#: Scope of the tasks.
TASKS_SCOPE = "tasks"
#: Slices of gold.tasks that a retirement wrote: later versions of tasks that other slices hold.
_RETIREMENT = ("decontaminate=", "takedown=")


def screen_documents(ctx: JobContext, ingest_id: str) -> JobReport | None:
    """Hold the documents of an ingest, as received, against the sets in force; None where there are none."""
    return _screen(ctx, f"documents={ingest_id}", "document", {DOCUMENTS: [ingest_id]}, lambda: _documents(ctx, ingest_id))


def screen_questions(ctx: JobContext, ingest_id: str) -> JobReport | None:
    """Hold the candidate questions of an ingest with their answers against the sets in force; None where there are none."""
    return _screen(ctx, f"questions={ingest_id}", "question", {QA: [ingest_id]}, lambda: _asked(_questions(ctx, ingest_id), "qa_id"))


def screen_tasks(ctx: JobContext) -> JobReport | None:
    """Hold all training tasks against the sets in force and the lake's own eval tasks; None where there are no tasks."""
    slices = [value for value in ctx.lake.slices(TASKS) if not value.startswith(_RETIREMENT)]
    if not slices:
        return None

    def training() -> DataFrame:
        return _asked(newest(ctx.read(TASKS, *slices)).where("split = 'train'"), "task_id")

    def same_answer(found: DataFrame) -> DataFrame:
        """Without a task that asks nearly what an eval task asks, but has another answer: it is another question of the form."""
        tasks = newest(ctx.read(TASKS, *slices))
        of_item = tasks.selectExpr("task_id AS item_id", "lower(trim(answer)) AS _theirs")
        of_row = tasks.selectExpr("task_id AS row_id", "lower(trim(answer)) AS _mine")
        joined = found.join(of_item, "item_id", "left").join(of_row, "row_id", "left")
        return joined.where(f"NOT startswith(benchmark, '{OWN}@') OR _mine = _theirs").drop("_mine", "_theirs")

    return _screen(ctx, TASKS_SCOPE, "task", {TASKS: slices}, training, own=lambda: _eval_tasks(ctx, slices), keep=same_answer)


def refusals(ctx: JobContext, scope: str) -> dict[Table, list[str | int]]:
    """What a verdict depends on: the slice of matches where it holds any and they reject; so a set that no text holds makes nothing stale."""
    conf = ctx.config.decontaminate
    held = ctx.lake.slices(CONTAMINATION).get(scope)
    rejects = conf.action == "reject" and held is not None and held.rows > 0 and bool(in_force(ctx.lake, conf.sets))
    return {CONTAMINATION: [scope]} if rejects else {}


def documents_refused(ctx: JobContext, ingest_id: str) -> dict[Table, list[str | int]]:
    """Screen an ingest's documents; what its curation reads of it."""
    screen_documents(ctx, ingest_id)
    return refusals(ctx, f"documents={ingest_id}")


def questions_refused(ctx: JobContext, ingest_id: str) -> dict[Table, list[str | int]]:
    """Screen an ingest's candidate questions; what its admission reads of it."""
    screen_questions(ctx, ingest_id)
    return refusals(ctx, f"questions={ingest_id}")


def refuse_documents(ctx: JobContext, judged: DataFrame, ingest_id: str) -> DataFrame:
    """Judged documents, those that hold an item rejected for it."""
    return _refuse(ctx, judged, f"documents={ingest_id}", key="doc_id", reason="rejected_for", evidence="rejected_by")


def refuse_questions(ctx: JobContext, checked: DataFrame, ingest_id: str) -> DataFrame:
    """Checked candidates, those that hold an item rejected for it."""
    return _refuse(ctx, checked, f"questions={ingest_id}", key="qa_id", reason="row_reason", evidence="row_evidence")


def _refuse(ctx: JobContext, judged: DataFrame, scope: str, *, key: str, reason: str, evidence: str) -> DataFrame:
    if not refusals(ctx, scope):
        return judged
    return refuse(judged, ctx.read(CONTAMINATION, scope), key=key, reason=reason, evidence=evidence)


def run(ctx: JobContext, *, retroactive: bool = False, retire: bool = False) -> tuple[list[JobReport], Affected | None]:
    """Screen the whole lake.

    Args:
        ctx: context.
        retroactive: tasks, rounds, published sets and checkpoints as well.
        retire: retire the training tasks that hold an item, or whose document does, so that no later round plans them.

    Returns:
        Reports of what was screened, and what was reached (None where not asked for).
    """
    filled = [name for name, commit in ctx.lake.slices(DOCUMENTS).items() if commit.rows > 0]
    reports = [screen_documents(ctx, ingest_id) for ingest_id in filled]
    reports += [screen_questions(ctx, ingest_id) for ingest_id in ctx.lake.slices(QA)]
    if not (retroactive or retire):
        return [report for report in reports if report is not None], None
    reports.append(screen_tasks(ctx))
    found = survey(ctx, in_force(ctx.lake, ctx.config.decontaminate.sets), own=OWN)
    if retire and found.tasks:
        reports.append(_retire(ctx, found))
    return [report for report in reports if report is not None], found


def _retire(ctx: JobContext, found: Affected) -> JobReport:
    tasks = sorted(found.tasks)
    origin = f"decontaminate={content_id('decontaminate', tasks)}"
    with ctx.open(JOB, origin, reads={}, writes={TASKS: origin}, settings=tasks) as job:
        if not job.done:
            others = [value for value in ctx.lake.slices(TASKS) if value != origin]
            current = newest(ctx.read(TASKS, *others))
            written = job.write(TASKS, lambda: next_versions(current, tasks, origin=origin, column="task_id", reason=REASON))
            job.count(input=len(tasks), retired=written.rows, retired_before=len(tasks) - written.rows)
    return job.report()


def _screen(
    ctx: JobContext, scope: str, kind: str, reads: dict[Table, Sequence[str | int]], texts: Callable[[], DataFrame],
    own: Callable[[], list[tuple[str, list[Item]]]] = list, keep: Callable[[DataFrame], DataFrame] = lambda found: found,
) -> JobReport | None:  # fmt: skip
    conf = ctx.config.decontaminate
    sets, mine = in_force(ctx.lake, conf.sets), own is not list
    if not sets and not mine:
        return None
    settings: dict[str, Any] = conf.model_dump(mode="json", exclude={"sets", "action"})
    benchmarks: dict[Table, Sequence[str | int]] = {BENCHMARK_ITEMS: sets} if sets else {}
    with ctx.open(
        JOB, scope, reads={**benchmarks, **reads}, writes={CONTAMINATION: scope}, settings=settings, versions={"matching": SCHEME}
    ) as job:  # fmt: skip
        if not job.done:
            index, held = build_index([*load(ctx.lake, sets), *own()], rule_of(conf)), texts()
            with matches(held, index, scope, kind) as found:
                written = job.write(CONTAMINATION, lambda: keep(found))
            searched, hit = held.count(), job.read_written(CONTAMINATION).select("row_id").distinct().count()
            job.count(
                input=searched, clean=searched - hit, contaminated=hit, matches=written.rows, items=len(index.item_ids), **_missing(index.unmatched)
            )  # fmt: skip
    return job.report()


def _missing(unmatched: dict[str, int]) -> dict[str, dict[str, int]]:
    return {"items_unmatchable": unmatched} if unmatched else {}


def _documents(ctx: JobContext, ingest_id: str) -> DataFrame:
    from pyspark.sql import functions as F

    received = ctx.read(DOCUMENTS, ingest_id)
    if ingest_id in added_ingests(ctx.lake):
        received = received.join(_questions(ctx, ingest_id).select("doc_id"), "doc_id", "left_semi")
    return received.select(F.col("doc_id").alias("row_id"), "doc_id", "text")


def _questions(ctx: JobContext, ingest_id: str) -> DataFrame:
    """Candidates of an ingest; of added tasks those to train on alone: held-out ones are a benchmark, and would be found in themselves."""
    asked = ctx.read(QA, ingest_id)
    return asked.where("split = 'train'") if ingest_id in added_ingests(ctx.lake) else asked


def _asked(rows: DataFrame, key: str) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.select(F.col(key).alias("row_id"), "doc_id", F.concat("question", F.lit("\n"), "answer").alias("text"))


def _eval_tasks(ctx: JobContext, slices: Sequence[str]) -> list[tuple[str, list[Item]]]:
    """The lake's own eval tasks as a set; tasks made from another one ask the same and are left out."""
    tasks = newest(ctx.read(TASKS, *slices)).where("split = 'eval' AND parent_task_id IS NULL").select("task_id", "question", "answer")
    items = [Item(row["task_id"], row["question"], row["answer"]) for row in tasks.collect()]
    return [(version_of(OWN, items), items)] if items else []


if __name__ == "__main__":
    from jobs.cli.main import submitted

    submitted("decontaminate")
