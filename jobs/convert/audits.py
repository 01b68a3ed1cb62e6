"""Items whose truth is known, put before the checking model among real ones: which are asked, and what it said."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from jobs.context import JobContext
from jobs.convert.plan import Conversion
from jobs.lake.types import spark_schema
from schemas.bronze.replies import REPLIES
from schemas.errors import VerilakeError
from schemas.handoff import CONVERT_SHARD
from schemas.ids import content_id
from schemas.silver.judge_audits import JUDGE_AUDITS
from udfs.conversion.ask import FAILED, Ask, Reply
from udfs.conversion.audit import AuditItem, AuditItemError, audit_chain
from udfs.conversion.drive import drive
from udfs.conversion.recipe import Recipe
from udfs.probes.spoil import spoil

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: How good items are spoiled for canaries: what a checker who reads the passage can tell.
FLAWS = ("answer_altered", "answer_verbatim", "answer_swapped")


class AuditFileError(VerilakeError):
    """The file of labelled items cannot be used."""

    exit_code = 2

    @classmethod
    def from_missing(cls, path: str, detail: str) -> AuditFileError:
        """It cannot be read."""
        return cls(f"convert.audit = {path}: {detail}")

    @classmethod
    def from_lines(cls, path: str, problems: Sequence[str]) -> AuditFileError:
        """All lines that are no items."""
        return cls(f"convert.audit = {path}: " + "; ".join(problems[:20]))


def audit_items(ctx: JobContext, n_documents: int) -> list[AuditItem]:
    """What the checker is asked beside ``n_documents`` documents: every labelled item, and canaries made of the good ones.

    There are ``audit_share * n_documents`` canaries, at least one for each domain, as far as good items can be spoiled. Which, their ids say.

    Raises:
        AuditFileError: the configured file is missing, or holds lines that are no items; all of them are named.
    """
    conf = ctx.config.convert
    if not conf.audit:
        return []
    labelled = _read(Path(conf.audit))
    wanted = max(len({item.domain for item in labelled}), math.ceil(conf.audit_share * n_documents))
    return [*labelled, *_canaries(labelled, wanted)]


def _read(path: Path) -> list[AuditItem]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AuditFileError.from_missing(str(path), str(error)) from error
    items, problems = {}, []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            held = json.loads(line)
            given = {"domain": "other", **held} if isinstance(held, dict) else {}
            shown = [given.get(name) for name in ("question", "answer", "passage")]
            flaw = given.get("flaw") or ("labelled" if given.get("label") == "bad" else "")
            named = {"audit_id": content_id("audit", *shown), "domain": given["domain"], "label": given.get("label"), "flaw": flaw}
            item = AuditItem.model_validate({**named, **dict(zip(("question", "answer", "passage"), shown, strict=True))})
            items[item.audit_id] = item
        except (ValueError, KeyError, AuditItemError) as error:
            problems.append(f"line {number}: {' '.join(str(error).split())[:200]}")
    if problems:
        raise AuditFileError.from_lines(str(path), problems)
    return [items[name] for name in sorted(items)]


def _canaries(labelled: Iterable[AuditItem], wanted: int) -> list[AuditItem]:
    """Spoiled twins of good items, domain after domain in turn, each twin once."""
    by_domain: dict[str, list[AuditItem]] = {}
    for item in labelled:
        if item.label == "good":
            by_domain.setdefault(item.domain, []).extend(_twins(item))
    queues = [sorted(twins, key=lambda twin: twin.audit_id) for _, twins in sorted(by_domain.items())]
    made: list[AuditItem] = []
    for at in range(max(map(len, queues), default=0)):
        made += [queue[at] for queue in queues if at < len(queue)]
    return made[:wanted]


def _twins(item: AuditItem) -> Iterator[AuditItem]:
    row = {"id": item.audit_id, "question": item.question, "answer": item.answer, "context": item.passage}
    for flaw in FLAWS:
        spoiled = spoil(row, flaw)
        if spoiled is not None:
            changed = {"question": spoiled["question"], "answer": str(spoiled["answer"]), "label": "bad", "flaw": flaw}
            yield item.model_copy(update={**changed, "audit_id": content_id("canary", item.audit_id, flaw)})


def audit_name(ingest_id: str, item: AuditItem) -> str:
    """The name under which an item lies among the documents of a run: each conversion asks anew, or no drift would ever show."""
    return content_id("audit", ingest_id, item.audit_id)


def audit_rows(ctx: JobContext, items: Sequence[AuditItem], ingest_id: str) -> DataFrame:
    """Documents of a run that are audits: the columns of a shard but ``earlier``."""
    empty = {"source": "audit", "uri": "", "title": None, "text": "", "metadata": "{}"}
    rows = [{"ingest_id": ingest_id, "doc_id": audit_name(ingest_id, item), "audit": item.to_json(), **empty} for item in items]
    schema = pa.schema([field for field in CONVERT_SHARD if field.name != "earlier"])
    return ctx.spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema), spark_schema(schema))


def verdicts(ctx: JobContext, replies: DataFrame, items: Sequence[AuditItem], conversion: Conversion, ingest_id: str) -> DataFrame:
    """Rows of silver.judge_audits: the verdict of every item that was asked about."""
    said: dict[str, list[Mapping[str, Any]]] = {}
    columns = [name for name in REPLIES.schema.names if name not in ("worker_id", "finished_at")]
    for row in replies.where("stage = 'audit'").select(*columns).orderBy("draw").collect() if items else ():
        said.setdefault(row["doc_id"], []).append(row.asDict())
    recipe = Recipe.from_settings(conversion.settings["recipe"])
    made = [_verdict(item, said.get(audit_name(ingest_id, item), []), recipe, ingest_id) for item in items]
    return ctx.spark.createDataFrame(pa.Table.from_pylist(made, schema=JUDGE_AUDITS.schema), spark_schema(JUDGE_AUDITS.schema))


def _verdict(item: AuditItem, said: Sequence[Mapping[str, Any]], recipe: Recipe, ingest_id: str) -> dict[str, Any]:
    by_reask = {reply["reask"]: reply for reply in reversed(said) if reply["reply"] is not None}

    def answer(ask: Ask) -> Reply:
        return str(by_reask[ask.reask]["reply"]) if ask.reask in by_reask else FAILED

    (state,) = drive(audit_chain(item, recipe), answer).states
    last = by_reask[max(by_reask)] if by_reask else None
    return {
        "ingest_id": ingest_id,
        "audit_id": item.audit_id,
        "domain": item.domain,
        "label": item.label,
        "flaw": item.flaw or None,
        "verdict": state.state if state.state in ("passed", "rejected") else "failed",
        "reason": state.reason,
        "template": state.template,
        "model": None if last is None else last["model"],
        "request_hash": None if last is None else last["request_hash"],
    }
