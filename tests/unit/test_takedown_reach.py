"""Takedown finds rows through the owners of links: every table that holds rows of documents has exactly one."""

from jobs.care.reach import HOLDERS, OWNER_COLUMN
from jobs.views.links import OWNERS
from schemas.catalog import ALL_TABLES

#: Tables without a row of any document: figures over many of them, the ledger, and what could not be read (told by its first bytes).
OTHERS = {
    "gold.round_metrics",
    "gold.worker_metrics",
    "gold.alerts",
    "ops.job_runs",
    "ops.rounds",
    "ops.bindings",
    "ops.tombstones",
    "bronze.rejects",
    "bronze.benchmark_items",
    "silver.judge_audits",  # of labelled items from a file, which are nobody's document
}


def test_every_table_of_the_lake_has_one_owner_or_is_named_as_holding_no_row_of_a_document():
    assert sorted([table.name for table in HOLDERS] + sorted(OTHERS)) == sorted(table.name for table in ALL_TABLES)


def test_a_parent_stands_before_its_children_and_the_columns_exist_on_both_sides():
    seen = {HOLDERS[0].name}
    for link in OWNERS:
        assert link.parent.name in seen, link.child.name
        assert len(link.on) == 1
        assert link.on[0][0] in link.child.schema.names
        assert link.on[0][1] in link.parent.schema.names
        seen.add(link.child.name)


def test_one_column_names_the_rows_of_a_table():
    assert OWNER_COLUMN["gold.preferences"] == "prompt_id"
    assert OWNER_COLUMN["silver.tokens"] == "trajectory_id"
