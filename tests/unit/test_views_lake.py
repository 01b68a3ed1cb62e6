"""status, funnel, explain and sql over a small lake that deltalake writes: no JVM."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from rich.console import Console

from jobs.views.explain import AmbiguousIdError, explain
from jobs.views.funnel import WAITING, read_funnel
from jobs.views.query import QueryError, list_tables, run_query
from jobs.views.reader import NoLakeError
from jobs.views.render import render_explanation, render_funnel, render_query, render_status, render_tables
from jobs.views.status import read_status
from jobs.views.visible import visible
from jobs.workspace import Workspace
from schemas.catalog import ALL_TABLES, TABLES
from schemas.errors import UnknownIdError
from schemas.ids import canonical_json, content_id, text_hash
from schemas.table import LAKE_SCHEMA_VERSION

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TEXT = "Über \x1b[31mcodecs\u202e. The default of errors is 'strict'. End."
SPAN = (TEXT.index("The default"), TEXT.index(" End."))


def ident(name):
    return content_id("test", name)


I1, I2 = ident("ingest 1"), ident("ingest 2")
D1, D2, D3, D4 = (ident(f"doc {n}") for n in range(1, 5))
R1, R2, Q1, Q2, P1, P2 = (ident(n) for n in ("reply 1", "reply 2", "qa 1", "qa 2", "prompt 1", "prompt 2"))
T = [ident(f"trajectory {n}") for n in range(4)]
G1, S1, PAIR, CALL = (ident(n) for n in ("group", "sft", "pair", "call"))
_EMPTY = {pa.string(): "", pa.int32(): 0, pa.int64(): 0, pa.float64(): 0.0, pa.bool_(): False, pa.binary(): b""}


def row(name, **values):
    """A row with the values that matter; the others are empty, or null where they may be."""
    out = {}
    for field in TABLES[name].schema:
        if field.name in values:
            out[field.name] = values.pop(field.name)
        elif field.nullable:
            out[field.name] = None
        else:
            out[field.name] = AT if pa.types.is_timestamp(field.type) else [] if pa.types.is_list(field.type) else _EMPTY[field.type]
    assert not values, f"{name} has no {sorted(values)}"
    return out


def put(workspace, name, slice_value, *rows, fingerprint="f"):
    table = TABLES[name]
    meta = canonical_json({"job": "test", "table": name, "slice": str(slice_value), "fingerprint": fingerprint, "batch": 1})
    write_deltalake(
        str(workspace.lake_root / table.path), pa.Table.from_pylist(list(rows), schema=table.schema), mode="append",
        partition_by=[table.partition] if table.partition else None, commit_properties=CommitProperties(custom_metadata={"userMetadata": meta}),
    )  # fmt: skip


def fill(workspace):
    """Two ingests: one through the whole loop, in one round; one only received."""
    for table in ALL_TABLES:
        write_deltalake(
            str(workspace.lake_root / table.path), table.schema.empty_table(), partition_by=[table.partition] if table.partition else None
        )
    (workspace.lake_root / "verilake.json").write_text(json.dumps({"schema_version": LAKE_SCHEMA_VERSION}))
    docs = [
        row(
            "bronze.documents",
            doc_id=d,
            ingest_id=I1,
            ingest_seq=1,
            source="docs",
            uri=f"docs#L{n}",
            text=TEXT,
            metadata="{}",
            path="docs.jsonl",
            position=n,
        )
        for n, d in enumerate((D1, D2, D3), start=1)
    ]
    put(workspace, "bronze.documents", I1, *docs)
    put(
        workspace,
        "bronze.documents",
        I2,
        row("bronze.documents", doc_id=D4, ingest_id=I2, ingest_seq=2, source="more", uri="u", text="x", metadata="{}"),
    )
    put(
        workspace,
        "bronze.rejects",
        I1,
        row("bronze.rejects", ingest_id=I1, path="docs.jsonl", position=4, reason="not_json", detail="Expecting value"),
    )
    verdicts = [(D1, "kept", "kept", None), (D2, "duplicate", "exact_duplicate", D1), (D3, "rejected", "too_short", None)]
    put(
        workspace, "silver.document_verdicts", I1,
        *(row("silver.document_verdicts", doc_id=d, ingest_id=I1, state=s, reason=r, dup_of=o, evidence="{}") for d, s, r, o in verdicts),
    )  # fmt: skip
    put(
        workspace,
        "silver.documents",
        I1,
        row("silver.documents", doc_id=D1, ingest_id=I1, text=TEXT, cluster_id=D1, split="train", metadata="{}"),
    )
    # A first draw failed, the second succeeded: one document, one reply.
    put(workspace, "bronze.replies", "run", *(
        row("bronze.replies", request_hash=h, run_id="run", ingest_id=I1, doc_id=D1, engine="extractive", failure_class=f, n_items=n)
        for h, f, n in ((R1, "engine_error", 0), (R2, None, 2))
    ))  # fmt: skip
    put(
        workspace, "silver.conversions", I1,
        row("silver.conversions", ingest_id=I1, doc_id=D1, stage="extract", ordinal=0, state="passed", reason="passed", draws=2),
    )  # fmt: skip
    qa = [
        row(
            "silver.qa", qa_id=q, ingest_id=I1, doc_id=D1, request_hash=R2, kind="param_default", question="What is the default of errors?", answer="'strict'",
            evidence_start=SPAN[0], evidence_end=SPAN[1], answer_start=SPAN[1] - 9, answer_end=SPAN[1] - 1, evidence_hash=text_hash(TEXT[slice(*SPAN)]) if q == Q1 else "wrong",
        )
        for q in (Q1, Q2)
    ]  # fmt: skip
    put(workspace, "silver.qa", I1, *qa)
    states = [(Q1, "admitted", "admitted"), (Q2, "rejected", "leak")]
    put(
        workspace,
        "silver.qa_verdicts",
        I1,
        *(row("silver.qa_verdicts", qa_id=q, ingest_id=I1, state=s, reason=r, probes='["leak"]') for q, s, r in states),
    )
    task = {
        "task_id": Q1,
        "qa_id": Q1,
        "doc_id": D1,
        "source_kind": "corpus",
        "split": "train",
        "status": "active",
        "kind": "param_default",
    }
    put(workspace, "gold.tasks", f"ingest={I1}", row("gold.tasks", version=1, origin=f"ingest={I1}", **task))
    put(workspace, "gold.tasks", "feedback=1", row("gold.tasks", version=2, origin="feedback=1", **(task | {"status": "repair"})))
    put(workspace, "gold.prompts", f"ingest={I1}", *(
        row("gold.prompts", prompt_id=p, origin=f"ingest={I1}", task_id=Q1, task_version=1, form=f, text="[bold]What?[/bold]")
        for p, f in ((P1, "answer_only"), (P2, "choice"))
    ))  # fmt: skip
    put(
        workspace,
        "gold.round_plan",
        1,
        row("gold.round_plan", round=1, prompt_id=P1, task_id=Q1, role="train", n_samples=4, why="seeded_stratum"),
    )
    put(workspace, "bronze.rollouts", 1, *(
        row("bronze.rollouts", run_id="r", round=1, prompt_id=P1, sample_index=n, failure_class="engine_error" if n == 3 else None) for n in range(4)
    ))  # fmt: skip
    put(workspace, "silver.trajectories", 1, *(
        row(
            "silver.trajectories", trajectory_id=t, round=1, run_id="r", group_id=G1, prompt_id=P1, sample_index=n,
            status="failed" if n == 3 else "completed", outcome_reward=None if n == 3 else float(n == 0),
        )
        for n, t in enumerate(T)
    ))  # fmt: skip
    put(
        workspace,
        "silver.interactions",
        1,
        *(row("silver.interactions", trajectory_id=t, round=1, role="assistant", content="'strict'") for t in T),
    )
    put(
        workspace,
        "silver.rewards",
        1,
        *(row("silver.rewards", trajectory_id=t, round=1, reward_name="correct", value=1.0, verdict="correct") for t in T),
    )
    put(workspace, "silver.calls", 1, row("silver.calls", call_id=CALL, trajectory_id=T[0], round=1))
    put(workspace, "silver.tokens", 1)
    put(workspace, "silver.trajectory_verdicts", 1, *(
        row("silver.trajectory_verdicts", trajectory_id=t, round=1, state="rejected" if n == 3 else "accepted", reason="no_reward" if n == 3 else "accepted")
        for n, t in enumerate(T)
    ))  # fmt: skip
    for name in ("gold.round_metrics", "gold.alerts", "silver.task_stats", "gold.regression", "gold.repair_queue"):
        put(workspace, name, 1)
    put(workspace, "gold.sft", 1, row("gold.sft", round=1, sft_id=S1, prompt_id=P1, task_id=Q1, trajectory_id=T[0], response="'strict'"))
    pair = {"pair_id": PAIR, "prompt_id": P1, "chosen_trajectory_id": T[0], "rejected_trajectory_id": T[1], "score_gap": 1.0}
    put(workspace, "gold.preferences", 1, row("gold.preferences", round=1, **pair))
    put(workspace, "ops.rounds", "", *(
        row("ops.rounds", event_id=s, round=1, state=s, seq=n, policy_id="reader-0") for n, s in enumerate(("planned", "rolled_out", "checked", "closed"), 1)
    ))  # fmt: skip
    put(workspace, "ops.job_runs", "", *(job_event("ingest_corpus", i, {}, {"input": n}) for i, n in ((I1, 4), (I2, 1))))
    put(workspace, "ops.job_runs", "", job_event("curate_corpus", I1, {"bronze.documents": {I1: "f"}}, {}))


def job_event(job, ingest_id, reads, counts, **more):
    values = {
        "event_id": content_id(job, ingest_id, canonical_json(more)), "job": job, "scope": f"ingest={ingest_id}", "state": "finished",
        "reads": canonical_json(reads), "writes": "{}", "counts": canonical_json(counts),
    }  # fmt: skip
    return row("ops.job_runs", **(values | more))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    workspace = Workspace.init(tmp_path_factory.mktemp("inspect") / "ws")
    fill(workspace)
    return workspace


@pytest.fixture
def changed(built, tmp_path):
    """A copy that a test may spoil."""
    shutil.copytree(built.root, tmp_path / "ws")
    return Workspace.open(tmp_path / "ws")


def printed(renderable, width=200):
    console = Console(width=width, record=True, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


class TestFunnel:
    def test_every_station_adds_up(self, built):
        funnel = read_funnel(built)
        found = {(s.station, s.scope, s.what): (s.total, s.parts) for s in funnel.sums}
        one, two, first = f"ingest={I1}", f"ingest={I2}", "round=1"
        assert found == {
            ("ingest", one, "records"): (4, {"documents": 3, "reject: not_json": 1}),
            ("ingest", two, "records"): (1, {"documents": 1}),
            ("curate", one, "documents"): (3, {"kept": 1, "duplicate: exact_duplicate": 1, "rejected: too_short": 1}),
            ("curate", two, "documents"): (1, {WAITING: 1}),
            ("curate", one, "kept"): (1, {"in silver.documents": 1}),
            ("convert", one, "kept documents"): (1, {"passed": 1}),
            ("admit", one, "candidates"): (2, {"admitted": 1, "rejected: leak": 1}),
            ("admit", one, "admitted"): (1, {"tasks": 1}),
            ("admit", "pool", "prompts"): (2, {"answer_only": 1, "choice": 1}),
            ("plan", first, "prompts"): (1, {"train": 1}),
            ("rollout", first, "planned samples"): (4, {"rollouts": 3, "failed: engine_error": 1}),
            ("ingest-rollouts", first, "delivered rollouts"): (4, {"completed": 3, "failed": 1}),
            ("check", first, "trajectories"): (4, {"accepted": 3, "rejected: no_reward": 1}),
            ("feedback", first, "SFT rows"): (1, {"from a trajectory": 1}),
            ("feedback", first, "preference pairs"): (1, {"from two trajectories": 1}),
        }
        assert funnel.failing == []
        assert "15 of 15 sums hold" in printed(render_funnel(funnel))

    @pytest.mark.parametrize(
        ("table", "lost", "station", "difference"),
        [
            ("silver.document_verdicts", f"doc_id = '{D2}'", "curate", -1),
            ("silver.documents", f"doc_id = '{D1}'", "curate", -1),
            ("silver.conversions", f"doc_id = '{D1}'", "convert", -1),
            ("silver.qa_verdicts", f"qa_id = '{Q2}'", "admit", -1),
            ("gold.tasks", "version = 1", "admit", -1),
            ("bronze.rollouts", "sample_index = 2", "rollout", -1),
            ("silver.trajectories", f"trajectory_id = '{T[2]}'", "ingest-rollouts", -1),
            ("silver.trajectories", f"trajectory_id = '{T[1]}'", "feedback", -1),
            ("silver.trajectory_verdicts", f"trajectory_id = '{T[2]}'", "check", -1),
            ("bronze.rejects", "position = 4", "ingest", -1),
        ],
    )
    def test_a_lost_row_is_named(self, changed, table, lost, station, difference):
        DeltaTable(str(changed.lake_root / TABLES[table].path)).delete(lost)
        assert (station, difference) in {(item.station, item.difference) for item in read_funnel(changed).failing}
        assert f"DOES NOT ADD UP: {station}" in printed(render_funnel(read_funnel(changed)))

    def test_without_the_ledger_only_the_number_of_records_is_unknown(self, changed):
        shutil.rmtree(changed.lake_root / "ops")
        unknown = [s for s in read_funnel(changed).sums if s.holds is None]
        assert [(s.station, s.what) for s in unknown] == [("ingest", "records")] * 2


class TestStatus:
    def test_what_is_there(self, built):
        status = read_status(built)
        assert [(i.ingest_id, i.seq, i.waiting_for) for i in status.ingests] == [(I1, 1, ()), (I2, 2, ("curate", "convert", "admit"))]
        assert [(r.round, r.state, r.policy_id, r.in_ledger) for r in status.rounds] == [(1, "closed", "reader-0", True)]
        assert {t.name: t.rows for t in status.tables}["silver.trajectories"] == 4
        assert len(status.tables) == len(ALL_TABLES)
        assert (status.schema_version, status.stale, status.failed) == (LAKE_SCHEMA_VERSION, [], [])
        assert status.next_command == f"verilake curate --ingest {I2[:12]}"
        text = printed(render_status(status))
        assert "next: verilake curate" in text
        assert I1[:12] in text

    def test_a_pinned_round_is_published(self, changed):
        for name in ("silver.document_verdicts", "silver.qa", "silver.qa_verdicts"):
            put(changed, name, I2)
        changed.pins_root.mkdir()
        (changed.pins_root / "round-1.json").write_text("{}")
        status = read_status(changed)
        assert [(r.round, r.state) for r in status.rounds] == [(1, "published")]
        assert status.next_command == "verilake run --rounds 2"

    def test_the_ledger_can_be_derived(self, changed):
        shutil.rmtree(changed.lake_root / "ops")
        status = read_status(changed)
        assert [(r.round, r.state, r.policy_id, r.in_ledger) for r in status.rounds] == [(1, "closed", None, False)]
        assert [i.seq for i in status.ingests] == [1, 2]

    @pytest.mark.parametrize(
        ("missing", "state", "command"),
        [
            ((), "closed", "verilake publish --round 1"),
            (("gold.repair_queue",), "checked", "verilake feedback --round 1"),
            (("gold.repair_queue", "gold.alerts"), "rolled_out", "verilake check --round 1"),
            (("gold.repair_queue", "gold.alerts", "silver.calls"), "planned", "verilake ingest-rollouts --round 1"),
            (("gold.repair_queue", "gold.alerts", "silver.calls", "bronze.rollouts"), "planned", "verilake rollout --round 1"),
        ],
    )
    def test_the_next_command_follows_the_tables(self, changed, missing, state, command):
        for name in ("silver.document_verdicts", "silver.qa", "silver.qa_verdicts"):
            put(changed, name, I2)
        for name in missing:
            shutil.rmtree(changed.lake_root / TABLES[name].path)
        status = read_status(changed)
        assert (status.rounds[0].state, status.next_command) == (state, command)

    def test_a_changed_input_makes_stale_and_a_failure_is_shown(self, changed):
        put(changed, "bronze.documents", I1, fingerprint="other")
        put(changed, "ops.job_runs", "", job_event("convert_corpus", I2, {}, {}, state="failed", error="no \x1b[31mworkers"))
        status = read_status(changed)
        assert [(s.job, s.scope, s.why) for s in status.stale] == [
            ("curate_corpus", f"ingest={I1}", f"changed since: bronze.documents {I1[:12]}")
        ]
        assert [(s.job, s.why) for s in status.failed] == [("convert_corpus", "no \x1b[31mworkers")]
        assert "\x1b" not in printed(render_status(status))

    def test_no_lake_yet(self, tmp_path):
        workspace = Workspace.init(tmp_path / "new")
        status = read_status(workspace)
        assert (status.schema_version, status.ingests, status.next_command) == (None, [], "verilake ingest PATH...")
        assert "next: verilake ingest" in printed(render_status(status))
        for command in (read_funnel, list_tables, lambda w: explain(w, I1), lambda w: run_query(w, "SELECT 1")):
            with pytest.raises(NoLakeError, match="verilake ingest"):
                command(workspace)


class TestExplain:
    def shape(self, explanation):
        return {(s.direction, s.table): s.total for s in explanation.sections}

    def test_from_a_training_row_to_its_source(self, built):
        explanation = explain(built, S1)
        assert explanation.found_in == ("gold.sft.sft_id",)
        assert self.shape(explanation) == {
            ("source", "bronze.documents"): 1, ("source", "silver.document_verdicts"): 1, ("source", "silver.documents"): 1,
            ("source", "bronze.replies"): 2, ("source", "silver.conversions"): 1, ("source", "silver.qa"): 1, ("source", "silver.qa_verdicts"): 1, ("source", "gold.tasks"): 2,
            ("source", "gold.prompts"): 1, ("source", "gold.round_plan"): 1, ("source", "bronze.rollouts"): 1, ("source", "silver.trajectories"): 1,
            ("source", "silver.interactions"): 1, ("source", "silver.rewards"): 1, ("source", "silver.trajectory_verdicts"): 1, ("here", "gold.sft"): 1,
        }  # fmt: skip
        (document,) = next(s for s in explanation.sections if s.table == "bronze.documents").rows
        assert (document["doc_id"], document["uri"], document["path"], document["position"]) == (D1, "docs#L1", "docs.jsonl", 1)

    def test_from_a_document_to_everything_it_reached(self, built):
        shape = self.shape(explain(built, D1))
        assert shape == {
            ("here", "bronze.documents"): 1, ("here", "silver.document_verdicts"): 1, ("here", "silver.documents"): 1,
            ("here", "silver.conversions"): 1, ("reached", "bronze.replies"): 2, ("reached", "silver.qa"): 2, ("reached", "silver.qa_verdicts"): 2, ("reached", "gold.tasks"): 2,
            ("reached", "gold.prompts"): 2, ("reached", "gold.round_plan"): 1, ("reached", "bronze.rollouts"): 4, ("reached", "silver.trajectories"): 4,
            ("reached", "silver.interactions"): 4, ("reached", "silver.calls"): 1, ("reached", "silver.rewards"): 4,
            ("reached", "silver.trajectory_verdicts"): 4, ("reached", "gold.sft"): 1, ("reached", "gold.preferences"): 1,
        }  # fmt: skip

    def test_a_rejected_document_ends_at_its_verdict(self, built):
        explanation = explain(built, D3)
        assert self.shape(explanation) == {("here", "bronze.documents"): 1, ("here", "silver.document_verdicts"): 1}
        assert "reason: too_short" in printed(render_explanation(explanation))

    @pytest.mark.parametrize(
        ("name", "found"),
        [
            (R2, "bronze.replies.request_hash"), (Q2, "silver.qa.qa_id"), (P2, "gold.prompts.prompt_id"), (T[2], "silver.trajectories.trajectory_id"),
            (G1, "silver.trajectories.group_id"), (PAIR, "gold.preferences.pair_id"), (CALL, "silver.calls.call_id"), (D4, "bronze.documents.doc_id"),
        ],
    )  # fmt: skip
    def test_every_layer_knows_its_ids(self, built, name, found):
        whole = explain(built, name)
        assert whole.found_in == (found,)
        assert "bronze.documents" in {s.table for s in whole.sections}
        by_prefix = explain(built, name[:8].upper())
        assert by_prefix == whole

    def test_a_task_is_found_with_its_question_and_all_versions(self, built):
        explanation = explain(built, Q1)
        assert explanation.found_in == ("silver.qa.qa_id", "gold.tasks.task_id")
        tasks = next(s for s in explanation.sections if s.table == "gold.tasks")
        assert [(r["version"], r["status"]) for r in tasks.rows] == [(1, "active"), (2, "repair")]
        assert tasks.direction == "here"

    def test_a_pair_names_both_rollouts(self, built):
        section = next(s for s in explain(built, PAIR).sections if s.table == "silver.trajectories")
        assert {r["trajectory_id"] for r in section.rows} == {T[0], T[1]}

    def test_the_evidence_is_quoted_checked_and_harmless(self, built):
        explanation = explain(built, D1)
        rows = {r["qa_id"]: r for r in next(s for s in explanation.sections if s.table == "silver.qa").rows}
        assert rows[Q1]["evidence_text"] == TEXT[slice(*SPAN)] == "The default of errors is 'strict'."
        assert (rows[Q1]["evidence_holds"], rows[Q2]["evidence_holds"]) == (True, False)
        text = printed(render_explanation(explanation))
        # The span within its document, and the answer within the span where it has one; control characters are shown, not sent.
        assert "\\x1b[31mcodecs\\u202e. “The default of errors is ['strict'].” End.  (its hash holds)" in text
        assert "ITS HASH DOES NOT HOLD" in text
        assert "[bold]What?[/bold]" in text  # the lake's text is no markup

    def test_only_some_rows_are_returned_but_all_are_counted(self, built):
        section = next(s for s in explain(built, D1, shown=1).sections if s.table == "silver.trajectories")
        assert (section.total, len(section.rows)) == (4, 1)

    def test_an_ingest_is_summed_up(self, built):
        explanation = explain(built, f"ingest={I1[:10]}")
        assert self.shape(explanation) == {("here", "bronze.documents"): 3, ("here", "bronze.rejects"): 1}
        assert {s.station for s in explanation.sums} == {"ingest", "curate", "convert", "admit"}
        assert "3 documents" not in printed(render_explanation(explanation)).split("\n")[0]

    @pytest.mark.parametrize("name", ["0" * 32, "abc", "", "x' OR '1'='1", "../../etc/passwd", "%%%%%%%%", "g" * 32])
    def test_an_unknown_id(self, built, name):
        with pytest.raises(UnknownIdError) as caught:
            explain(built, name)
        assert caught.value.exit_code == 3

    def test_an_ambiguous_prefix(self, changed):
        twin = D4[:9] + ("0" if D4[9] != "0" else "1") + D4[10:]
        put(changed, "bronze.documents", I2, row("bronze.documents", doc_id=twin, ingest_id=I2, metadata="{}"))
        with pytest.raises(AmbiguousIdError, match=f"{D4[:8]} fits 2 or more ids"):
            explain(changed, D4[:8])
        assert explain(changed, twin[:10]).ident == twin


class TestSql:
    def test_tables_are_named_by_layer(self, built):
        result = run_query(built, "SELECT state, count(*) AS n FROM silver.trajectory_verdicts GROUP BY state ORDER BY state")
        assert (result.columns, result.rows, result.truncated) == (["state", "n"], [("accepted", 3), ("rejected", 1)], False)

    def test_joins_across_layers_and_time_in_utc(self, built):
        sql = "SELECT d.uri, d.fetched_at::VARCHAR FROM gold.sft s JOIN gold.tasks t ON t.task_id = s.task_id AND t.version = 1 JOIN bronze.documents d USING (doc_id)"
        assert run_query(built, sql).rows == [("docs#L1", "2026-01-02 03:04:05+00")]

    def test_every_table_can_be_read(self, built):
        sql = "SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary"
        assert {name for (name,) in run_query(built, sql).rows} == set(TABLES)
        counts = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM (SELECT * FROM {name})" for name in TABLES)
        found = dict(run_query(built, counts).rows)
        assert (found["silver.trajectories"], found["gold.tasks"], found["gold.alerts"]) == (4, 2, 0)
        described = run_query(built, "DESCRIBE silver.qa").rows
        assert [line[0] for line in described] == TABLES["silver.qa"].schema.names

    def test_rows_are_limited(self, built):
        result = run_query(built, "SELECT * FROM range(5)", limit=2)
        assert (result.rows, result.truncated) == ([(0,), (1,)], True)
        assert "2 rows, and more" in printed(render_query(result))

    @pytest.mark.parametrize(
        ("sql", "words"),
        [
            ("SELECT * FROM read_text('/etc/hostname')", "no files"),
            ("SELECT * FROM '/etc/hostname'", "does not exist"),
            ("SELECT * FROM glob('/etc/*')", "no files"),
            ("SELECT * FROM read_parquet('http://localhost/x.parquet')", "no files"),
            ("COPY (SELECT 1) TO '/tmp/verilake_x'", "COPY is not allowed"),
            ("ATTACH '/tmp/verilake_x.db'", "ATTACH is not allowed"),
            ("INSTALL httpfs", "LOAD is not allowed"),
            ("SET enable_external_access = true", "SET is not allowed"),
            ("DROP VIEW gold.sft", "DROP is not allowed"),
            ("INSERT INTO gold.sft SELECT * FROM gold.sft", "INSERT is not allowed"),
            ("EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/verilake_x'", "no files"),
            ("SELECT 1; DROP VIEW gold.sft", "one statement is expected, got 2"),
            ("", "one statement is expected, got 0"),
            ("SELECT * FROM gold.nothing", "does not exist"),
            ("SELEC 1", "syntax error"),
            ("SELECT * FROM built", "does not exist"),
        ],
    )
    def test_what_is_refused(self, built, sql, words):
        with pytest.raises(QueryError, match=words) as caught:
            run_query(built, sql)
        assert caught.value.exit_code == 2

    def test_the_list_of_tables(self, built):
        infos = {info.name: info for info in list_tables(built)}
        assert set(infos) == set(TABLES)
        assert infos["silver.qa"].rows == 2
        assert all(column.comment for info in infos.values() for column in info.columns)
        assert "silver.qa  2 rows, key qa_id" in printed(render_tables(infos.values()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 字", "plain é 字"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("abc\u202egnp.exe", "abc\\u202egnp.exe"),
        ("\u2028\x9b\u200b", "\\u2028\\x9b\\u200b"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


def test_visible_is_cut():
    assert visible("x" * 50, 10) == "x" * 10 + " …"


def test_json_of_a_result(built):
    from dataclasses import asdict

    for value in (read_status(built), read_funnel(built), explain(built, D1)):
        assert json.loads(json.dumps(asdict(value), default=str))
