"""Rows of any table, for tests that care about a few columns of many tables."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa


def filled(table, **values):
    """A row of a table: what is not given is null, or the emptiest value of its type."""

    def empty(kind):
        if pa.types.is_string(kind):
            return "x"
        if pa.types.is_binary(kind):
            return b""
        if pa.types.is_list(kind):
            return []
        if pa.types.is_timestamp(kind):
            return datetime(2026, 1, 1, tzinfo=UTC)
        return False if pa.types.is_boolean(kind) else 0

    unknown = set(values) - set(table.schema.names)
    assert not unknown
    return {f.name: values.get(f.name, None if f.nullable else empty(f.type)) for f in table.schema}
