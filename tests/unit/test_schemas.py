"""The tables as values: what holds for all of them, and a frozen order of columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from schemas.catalog import ALL_TABLES, TABLES
from schemas.contract import AnswerContract
from schemas.handoff import PART_SCHEMAS
from schemas.ids import content_id, seed_from, uniform_from
from schemas.table import Table, column

#: Content id over names, types and nullability of every column in order. A change here is a change of the lake's layout: raise
#: LAKE_SCHEMA_VERSION and give ``migrate`` the step, then record the new value (computed by ``layout_digest`` below).
LAYOUT = "53c70d8187eb2a7ffc1d28deee5498f5"


def layout_digest() -> str:
    return content_id([[t.name, t.key, t.partition, [[f.name, str(f.type), f.nullable] for f in t.schema]] for t in ALL_TABLES])


def test_layout_is_frozen():
    assert layout_digest() == LAYOUT


def test_names_are_unique_and_every_column_has_a_comment():
    assert len(TABLES) == len(ALL_TABLES)
    bare = [f"{t.name}.{f.name}" for t in ALL_TABLES for f in t.schema if not (f.metadata or {}).get(b"comment")]
    assert bare == []


def test_appendonly_stands_on_two_tables_alone():
    # elsewhere it would forbid replaceWhere and takedown (DESIGN section 4)
    assert sorted(t.name for t in ALL_TABLES if t.append_only) == ["bronze.rejects", "bronze.replies"]


def test_keys_are_never_null():
    assert [t.name for t in ALL_TABLES for k in t.key if t.schema.field(k).nullable] == []


def test_checks_spell_out_null():
    # Delta's CHECK rejects null: a check over a nullable column must say what null means (L§6)
    for table in ALL_TABLES:
        for condition in table.checks.values():
            for field in table.schema:
                if field.nullable and f"{field.name}" in condition.replace("(", " ").replace(")", " ").split():
                    assert "NULL" in condition, f"{table.name}: {condition}"


def test_parts_of_the_handoff_are_rows_of_bronze():
    assert PART_SCHEMAS["convert"].names == TABLES["bronze.replies"].schema.names
    assert PART_SCHEMAS["rollout"].names == TABLES["bronze.rollouts"].schema.names


def test_a_table_with_a_key_that_is_no_column_is_refused():
    with pytest.raises(ValueError, match="not columns of the schema: nope"):
        Table(name="a.b", comment="", key=("nope",), partition=None, schema=pa.schema([column("a", pa.string(), "c")]))


def test_ids_are_stable_across_processes_and_machines():
    # sha256 of the canonical JSON ["a",1,{"b":null}], first 32 hex digits; by hashlib.sha256(b'["a",1,{"b":null}]').hexdigest()
    assert content_id("a", 1, {"b": None}) == "b1be2fbe696c6cab8d545c45c9d8e4c4"
    assert 0 <= seed_from("a") < 2**63
    assert 0.0 <= uniform_from("a") < 1.0
    assert content_id("lone \ud800 surrogate") == content_id("lone \ud800 surrogate")


def test_contract_refuses_unknown_keys_and_empty_gold():
    with pytest.raises(ValueError, match="extra"):
        AnswerContract.model_validate({"type": "text", "gold": "x", "nope": 1})
    with pytest.raises(ValueError, match="gold"):
        AnswerContract(type="text", gold="")
