"""Quotas of conversion: what cells lack, what groups yield, and which of them are asked about next."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from jobs.cli.main import app
from jobs.config import ConfigError, load_config
from jobs.views.quotas import CellFill, quota_cells
from jobs.views.reader import LakeReader
from jobs.workspace import Workspace
from schemas.catalog import ALL_TABLES
from schemas.conf_convert import Quotas
from tests.published_rounds import put
from udfs.conversion.quotas import GROUPED, UNGROUPED, Group, expected, group_batches, group_of, lacking, share

DATE, NUMBER = "history/date", "history/number"
#: Of two documents each, one group gave two dates, the other two numbers.
DATES, NUMBERS = Group(2, 10, {DATE: 2}), Group(2, 10, {NUMBER: 2})


@pytest.mark.parametrize(
    ("wanted", "filled", "lacks"),
    [
        ((), {}, {}),
        # every cell that was met, also one whose tasks are all solved always or never
        ((), {DATE: 3, NUMBER: 0}, {DATE: 7, NUMBER: 10}),
        # those that are named and no other; one that is over-full lacks nothing
        ((NUMBER,), {DATE: 3}, {NUMBER: 10}),
        ((DATE, NUMBER), {DATE: 12, NUMBER: 10}, {DATE: 0, NUMBER: 0}),
    ],
    ids=["nothing met", "met", "named", "filled"],
)
def test_what_cells_lack(wanted, filled, lacks):
    assert lacking(10, wanted, filled) == lacks


def test_yields_lean_on_the_average_and_what_was_never_tried_gets_a_little_more():
    groups = {"a": Group(2, 5, {DATE: 2}), "b": Group(8, 5, {DATE: 1}), "c": Group(0, 5)}
    # 3 dates of 10 documents: 0.3 on average; a (2 + 4 * 0.3) / (2 + 4), b (1 + 1.2) / 12, c 0.3 + 0.05
    assert {name: found[DATE] for name, found in expected(groups, [DATE]).items()} == pytest.approx(
        {"a": 3.2 / 6, "b": 2.2 / 12, "c": 0.35}
    )


@pytest.mark.parametrize(
    ("groups", "lack", "documents", "shares"),
    [
        # square roots of 4 and 16 are 2 and 4: a third and two thirds
        ({"a": Group(waiting=4), "b": Group(waiting=16)}, {DATE: 100}, 6, {"a": 2, "b": 4}),
        # asked, and no task came of it: no cell is known, the same
        ({"a": Group(3, 4), "b": Group(3, 16)}, {}, 6, {"a": 2, "b": 4}),
        # 1/2 a document on average: (2 + 2)/6 = 2/3 and (0 + 2)/6 = 1/3
        ({"d": DATES, "n": NUMBERS}, {DATE: 100}, 6, {"d": 4, "n": 2}),
        # one date lacks: 2/3 * 2/3 + 1/3 * 1/3 = 5/9 a document of this mix, two will do
        ({"d": DATES, "n": NUMBERS}, {DATE: 1}, 6, {"d": 1, "n": 1}),
        # both lack alike
        ({"d": DATES, "n": NUMBERS}, {DATE: 50, NUMBER: 50}, 6, {"d": 3, "n": 3}),
        # 300 dates and 100 numbers lack: 3 * 2/3 + 1/3 = 7/3 against 3 * 1/3 + 2/3 = 5/3, of twelve 7 and 5
        ({"d": DATES, "n": NUMBERS}, {DATE: 300, NUMBER: 100}, 12, {"d": 7, "n": 5}),
        # what is full counts nothing
        ({"d": DATES, "n": NUMBERS}, {DATE: 100, NUMBER: 0}, 6, {"d": 4, "n": 2}),
        # a group without waiting documents teaches and gets none; what one cannot take goes to the others
        ({"d": Group(2, 0, {DATE: 2}), "n": NUMBERS}, {DATE: 100}, 6, {"n": 6}),
        ({"d": Group(2, 1, {DATE: 2}), "n": NUMBERS}, {DATE: 100}, 6, {"d": 1, "n": 5}),
        # a cell that nothing has ever yielded: the group that was never tried
        ({"d": DATES, "new": Group(waiting=9)}, {NUMBER: 100}, 6, {"d": 0, "new": 6}),
        # every cell is full: the end
        ({"d": DATES, "new": Group(waiting=9)}, {DATE: 0}, 6, {"d": 0, "new": 0}),
        ({}, {DATE: 5}, 6, {}),
    ],
    ids=[
        "nothing asked", "no cell known", "one cell", "few needed", "two cells", "uneven", "one is full", "exhausted", "capped", "never met",
        "filled", "no documents",
    ],
)  # fmt: skip
def test_shares(groups, lack, documents, shares):
    assert share(groups, lack, documents) == shares
    backwards = {name: groups[name] for name in sorted(groups, reverse=True)}
    assert share(backwards, dict(sorted(lack.items(), reverse=True)), documents) == shares


def test_groups_are_source_and_topic():
    rows = [("1", "web", '{"topic": "bridges"}'), ("2", "web", "no json"), ("3", "web/bridges", '{"category": " "}')]
    batch = pa.RecordBatch.from_pylist(
        [{"doc_id": ident, "ingest_id": "i", "source": source, "metadata": metadata} for ident, source, metadata in rows], schema=UNGROUPED
    )
    (made,) = group_batches(iter([batch]))
    assert made.schema == GROUPED
    assert made.column("name").to_pylist() == ['["web","bridges"]', '["web","web"]', '["web/bridges","web/bridges"]']
    assert made.column("of_source").to_pylist() == [group_of("web"), group_of("web"), '["web/bridges"]']


@pytest.mark.parametrize("cells", ['["number"]', '["/number"]', '["history/code"]', '["history/date", "history/date"]'])
def test_cells_are_domain_and_answer_type(cells):
    with pytest.raises(ConfigError, match="domain/answer_type"):
        load_config(overrides=[f"convert.quotas.cells={cells}"])
    assert load_config(overrides=['convert.quotas.cells=["arts/and/crafts/set"]']).convert.quotas.cells == ("arts/and/crafts/set",)


def test_tasks_that_teach_fill_a_cell_and_the_funnel_shows_it(tmp_path):
    workspace = Workspace.init(tmp_path / "ws")
    for table in ALL_TABLES:
        write_deltalake(
            str(workspace.lake_root / table.path), table.schema.empty_table(), partition_by=[table.partition] if table.partition else None
        )
    made = [
        *((f"t{n}", {"answer_type": "date"}) for n in range(6)),
        ("other cell", {"answer_type": "number"}),
        ("retired", {"answer_type": "text"}), ("retired", {"answer_type": "text", "version": 2, "status": "retired"}),
        ("form alone", {"answer_type": "date", "source_kind": "constraint"}),
    ]  # fmt: skip
    plain = {"origin": "ingest=i", "domain": "history", "version": 1, "status": "active", "source_kind": "corpus"}
    put(workspace, "gold.tasks", "ingest=i", *({**plain, "task_id": name, **values} for name, values in made))

    def tried(name, mean, round_no=1, mode="closed_book"):
        return {"task_id": name, "prompt_id": f"{name} {mode}", "posterior_mean": mean, "round": round_no, "context_mode": mode}

    # t0 is always solved, t1 never, t2 at the edge of the band, t3 was solved always and is not any more, t4 with its passage alone.
    first = [
        tried("t0", 0.95),
        tried("t1", 0.05),
        tried("t2", 0.9),
        tried("t3", 0.95),
        tried("t4", 0.95, mode="open_book"),
        tried("other cell", 0.99),
    ]
    put(workspace, "silver.task_stats", 1, *first)
    put(workspace, "silver.task_stats", 2, tried("t3", 0.5, 2))
    states = [("a", "passed", "passed"), ("b", "unasked", "quota"), ("c", "unasked", "quota")]
    put(workspace, "silver.conversions", "i", *(
        {"ingest_id": "i", "doc_id": name, "stage": "filter", "state": state, "reason": reason} for name, state, reason in states
    ))  # fmt: skip
    wished = Quotas(per_cell=5, documents=1, cells=())
    cells = quota_cells(LakeReader.open(workspace), wished, (0.1, 0.9))
    assert cells == [CellFill("history/date", 5, 4, 1), CellFill("history/number", 5, 0, 5)]
    (workspace.root / "conf" / "verilake.toml").write_text(
        '[convert.quotas]\nper_cell = 2\ncells = ["history/date", "history/set"]\n', "utf-8"
    )
    shown = CliRunner().invoke(app, ["funnel", "--prices", "--json", "-w", str(workspace.root)])
    told = json.loads(shown.stdout.splitlines()[-1])
    assert [CellFill(**cell) for cell in told["quotas"]] == [CellFill("history/date", 2, 4, 0), CellFill("history/set", 2, 0, 2)]
    # Documents that quotas passed over came to no stage.
    assert [stage["states"] for stage in told["conversion"]["stages"]] == [{"passed": 1}]
