"""A lake that deltalake writes, without a JVM, full of what a report must bear: many rounds, many task types, hostile and unruly text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
from deltalake import write_deltalake

from jobs.workspace import Workspace
from schemas.catalog import ALL_TABLES, TABLES
from schemas.ids import canonical_json, content_id
from schemas.publication import Pin, PinnedSet

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_EMPTY = {pa.string(): "", pa.int32(): 0, pa.int64(): 0, pa.float64(): 0.0, pa.bool_(): False, pa.binary(): b""}

#: Each sets ``window.pwned`` where it is taken for anything but text.
HOSTILE = (
    "<script>window.pwned=1</script>",
    '<img src=x onerror="window.pwned=1">',
    '"><svg onload=window.pwned=1>',
    "'><body onload='window.pwned=1'>",
    "</style></title></textarea></svg><script>window.pwned=1</script>",
    "<!--<script>window.pwned=1</script>-->",
    "javascript:window.pwned=1",
    "{{7*7}} {% raw %} ${7*7} #{7*7}",
    "'; DROP TABLE gold_tasks; --",
    "$(touch /tmp/pwned) `id` && ;",
    "&lt;b&gt; &#x3C;script&#x3E;",
)
#: Not hostile by intent, and hard to lay out all the same.
UNRULY = (
    "turned \u202e around \u2066 and \u2069 back",
    "nul \x00, bell \x07, escape \x1b[31m",
    "مرحبا بالعالم، هذه إجابة طويلة من اليمين إلى اليسار",
    "שלום עולם",
    "ด้วยเหตุนี้จึงไม่มีช่องว่างระหว่างคำ" * 8,
    "w" * 5000,
    "line\n" * 400,
    "an answer of ten kilobytes " * 380,
)


def row(table, /, **values):
    """A row with the values that matter; the others are empty, or null where they may be."""
    out = {}
    for field in TABLES[table].schema:
        if field.name in values:
            out[field.name] = values.pop(field.name)
        elif field.nullable:
            out[field.name] = None
        else:
            out[field.name] = AT if pa.types.is_timestamp(field.type) else [] if pa.types.is_list(field.type) else _EMPTY[field.type]
    assert not values, f"{table} has no {sorted(values)}"
    return out


def ident(*parts):
    return content_id("report", *parts)


class Rows:
    """Rows by table, written in one go."""

    def __init__(self) -> None:
        self.held = {table.name: [] for table in ALL_TABLES}

    def add(self, table, /, **values) -> None:
        self.held[table].append(row(table, **values))

    def write(self, workspace: Workspace, *, turned: bool = False) -> None:
        """``turned``: the rows in the opposite order, in two commits, which must change nothing."""
        for table in ALL_TABLES:
            rows = self.held[table.name][::-1] if turned else self.held[table.name]
            halves = [rows[: len(rows) // 2], rows[len(rows) // 2 :]] if turned else [rows]
            for part in halves:
                data = pa.Table.from_pylist(part, schema=table.schema)
                write_deltalake(
                    str(workspace.lake_root / table.path), data, mode="append", partition_by=[table.partition] if table.partition else None
                )
        (workspace.lake_root / "verilake.json").write_text('{"schema_version": 2}')


def hostile_rows(rounds: int = 3, types: int = 4) -> Rows:
    """A lake of ``rounds`` closed rounds and ``types`` task types (four before the last round) whose every text is hostile or unruly; its sums hold."""
    rows = Rows()
    ingest = ident("ingest")
    rows.add(
        "ops.job_runs",
        event_id="i",
        job="ingest_corpus",
        scope=f"ingest={ingest}",
        state="finished",
        reads="{}",
        writes="{}",
        counts=canonical_json({"input": types}),
        seconds=12.5,
    )
    kinds = _kinds(types)
    for at, kind in enumerate(kinds):
        doc, task = ident("doc", at), ident("task", at)
        rows.add("bronze.documents", doc_id=doc, ingest_id=ingest, ingest_seq=1, source="s", uri=say(at), text=say(at), metadata="{}")
        rows.add("silver.document_verdicts", doc_id=doc, ingest_id=ingest, state="kept", reason="kept", evidence="{}")
        rows.add(
            "silver.documents",
            doc_id=doc,
            ingest_id=ingest,
            uri=say(at),
            title=say(at + 1),
            licence=say(at + 2),
            text=say(at),
            cluster_id=doc,
            split="train",
            metadata="{}",
        )
        rows.add(
            "bronze.replies",
            request_hash=ident("reply", at),
            run_id="r",
            ingest_id=ingest,
            doc_id=doc,
            engine=say(at),
            price=0.25,
            seconds=0.5,
        )
        rows.add("silver.conversions", ingest_id=ingest, doc_id=doc, stage="extract", ordinal=0, state="passed", reason=say(at), draws=1)
        rows.add("silver.qa", qa_id=task, ingest_id=ingest, doc_id=doc, kind=kind)
        rows.add(
            "silver.qa_verdicts", qa_id=task, ingest_id=ingest, kind=kind, state="admitted", reason="admitted", probes="[]", evidence="{}"
        )
        rows.add(
            "gold.tasks",
            task_id=task,
            version=1,
            origin=f"ingest={ingest}",
            kind=kind,
            source_kind="corpus",
            status="active",
            doc_id=doc,
            cluster_id=doc,
        )
        for form in ("answer_only", "choice"):
            rows.add(
                "gold.prompts", prompt_id=ident("prompt", at, form), origin=f"ingest={ingest}", task_id=task, task_version=1, form=form
            )
    for number in range(1, rounds + 1):
        add_round(rows, number, types if number == rounds else min(types, 4), full=number == rounds)
    return rows


def _kinds(types: int) -> list[str]:
    return [HOSTILE[0], "t" * 200, *(f"type_{at:02d}" for at in range(2, types))][:types]


def say(at: int) -> str:
    """One of the texts, in turn."""
    texts = (*HOSTILE, *UNRULY)
    return texts[at % len(texts)]


def add_round(rows: Rows, number: int, types: int, *, full: bool = True) -> None:
    """Each task is asked for training and, in its other form, as held out; 4 samples a prompt, number % 4 of them correct in training, 2 held out."""
    samples = 0
    for at, kind in enumerate(_kinds(types)):
        task = ident("task", at)
        for role, why, form, k in (("train", "in_band", "answer_only", number % 4), ("eval", "eval_fixed", "choice", 2)):
            prompt = ident("prompt", at, form)
            common = {"round": number, "prompt_id": prompt, "task_id": task, "role": role, "task_type": kind}
            rows.add("gold.round_plan", **common, task_version=1, n_samples=4, why=why, evidence="{}", policy_id=f"policy-{number}")
            rows.add("silver.task_stats", **common, n=4, n_valid=4, k=k, policy_id=f"policy-{number}")
            for index in range(4):
                samples += 1
                _add_sample(rows, number, kind, task, prompt, role, index, at, k, full=full)
        if full:
            rows.add("gold.repair_queue", round=number, task_id=task, task_version=1, prompt_id=ident("prompt", at, "choice"), task_type=kind,
                     question=say(at), gold=say(at + 1), majority_answer=say(at + 2), majority_count=7, n_valid=8, rank=at + 1, why="majority_against_gold")  # fmt: skip
            rows.add("gold.alerts", round=number, name="null_reward_share", slice_kind="task_type", slice=kind, severity="block" if at % 2 else "warn",
                     value=0.5, bound=0.02, message=say(at))  # fmt: skip
            rows.add("silver.calls", call_id=ident("call", number, at), trajectory_id="", round=number, engine=say(at), price=0.125, prompt_tokens=1000,
                     completion_tokens=10, latency_ms=2.0)  # fmt: skip
    for name, share in (("accepted_share", 0.5), ("null_reward_share", 0.125), ("flagged_share", 0.25), ("rejected_share", 0.25)):
        rows.add("gold.round_metrics", round=number, name=name, slice_kind="all", slice="all", numerator=1, denominator=2, value=share)
    rows.add(
        "gold.round_metrics",
        round=number,
        name="samples",
        slice_kind="all",
        slice="all",
        numerator=samples,
        denominator=1,
        value=float(samples),
    )
    for seq, state in enumerate(("planned", "rolled_out", "checked", "closed"), 1):
        rows.add(
            "ops.rounds",
            event_id=f"{number}{state}",
            round=number,
            state=state,
            seq=seq,
            policy_id=f"policy-{number}",
            detail="{}",
            at=AT + timedelta(days=number),
        )
    rows.add(
        "ops.job_runs",
        event_id=f"p{number}",
        job="plan_round",
        scope=f"round={number}",
        state="finished",
        reads="{}",
        writes="{}",
        counts="{}",
        seconds=3.0,
    )


def _add_sample(rows, number, kind, task, prompt, role, index, at, k, *, full) -> None:
    sample = ident("trajectory", number, prompt, index)
    unknown = role == "eval" and index == 3
    outcome = None if unknown else float(index < k)
    rows.add("bronze.rollouts", run_id=f"run-{number}", round=number, prompt_id=prompt, sample_index=index)
    rows.add("silver.trajectories", trajectory_id=sample, round=number, run_id=f"run-{number}", task_id=task, task_version=1, prompt_id=prompt, sample_index=index, role=role,
             task_type=kind, status="completed", response_length=None if unknown else 10 * index + at, outcome_reward=outcome, worker_id=say(at), raw="{}")  # fmt: skip
    rows.add("silver.trajectory_verdicts", trajectory_id=sample, round=number, state="accepted" if index % 2 else "flagged", reason="accepted" if index % 2 else "bad_format",
             flags=[] if index % 2 else ["bad_format"], evidence="{}")  # fmt: skip
    rows.add("silver.rewards", trajectory_id=sample, reward_name="correct", verifier_run_id="v", round=number, value=outcome, is_outcome=True,
             verdict="error" if unknown else "correct" if outcome else "incorrect", verifier_name=say(at), verifier_version="1", extracted_answer=say(at + 4),
             gold_answer=say(at + 5))  # fmt: skip
    if not full:
        return
    rows.add("silver.interactions", trajectory_id=sample, round=number, turn_index=0, role="user", content=say(at + index))
    rows.add(
        "silver.interactions",
        trajectory_id=sample,
        round=number,
        turn_index=1,
        role="assistant",
        content=None if unknown else say(at + index + 3),
        sampled=True,
    )


def lay(
    root, rows: Rows, *, tag: str | None = None, campaign: str = "verilake", last: int | None = None, turned: bool = False
) -> Workspace:
    """A workspace that holds the rows; with a pin of round ``last`` where a tag is given."""
    workspace = Workspace.init(root)
    rows.write(workspace, turned=turned)
    if tag is not None:
        lay_pin(workspace, last or 1, tag, campaign)
    return workspace


def lay_pin(workspace: Workspace, number: int, tag: str, campaign: str = "verilake") -> None:
    sets = {name: PinnedSet(manifest_sha256=ident(name) * 2, rows=10 * number, bytes=123456, files=2) for name in ("rl", "sft")}
    pin = Pin(
        campaign=campaign, round=number, attempt=1, tag=tag, policy_id="p", sets=sets, tables={}, eval_digest="e", collected_digest="c", conf={}, code_hash="h",
        filters={}, templates={}, verifiers=(), figures={},
    )  # fmt: skip
    (workspace.root / "pins").mkdir(exist_ok=True)
    (workspace.root / "pins" / f"round-{number}.json").write_text(canonical_json(pin.model_dump(mode="json")))
