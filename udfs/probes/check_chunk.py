"""The task of a probing process: a chunk of rows checked, one answer for each, in the form that its writer takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from udfs.killpoints import reach
from udfs.probes.check import Note, check_item
from udfs.probes.item import FIELDS, RESULTS, Checked, read_item, unreadable
from udfs.probes.tally import QaTally
from udfs.verifiers.chunks import Chunk
from udfs.verifiers.grade_lines import quoted
from udfs.verifiers.lines import Fields, Names, read_line
from udfs.verifiers.rows import RowError
from udfs.verifiers.task import Marker, Task

if TYPE_CHECKING:
    import pyarrow as pa

#: Seconds that a row may take before the process that probes it is ended: a guard; rows take less than a millisecond.
ROW_SECONDS = 60.0
#: What the contract does with fields.
NAMES = Names(frozenset(FIELDS), frozenset(RESULTS))


def start(settings: Mapping[str, Any]) -> Task:
    """Make the task.

    Args:
        settings: ``out``, the form of what comes out.
    """

    def answer(chunk: Chunk, at: Marker, lost: Mapping[int, str]) -> tuple[bytes, dict[str, Any]]:
        def begin(row: int) -> None:
            at.put(row, ROW_SECONDS)
            reach("probes/row")

        tally = QaTally()
        if chunk.form == "lines":
            return check_lines(chunk, begin, lost, tally), tally.plain()
        return _check_batch(chunk, begin, lost, tally, str(settings["out"])), tally.plain()

    return answer


def check_fields(fields: Mapping[str, Any], flags: Iterable[str], note: Note) -> Checked:
    """Check one row of a plain file; never raises for what a row holds.

    Args:
        fields: by name, see :data:`udfs.probes.item.FIELDS`.
        flags: what was wrong with the row already.
        note: what the rest of the file says of it.
    """
    wrong = tuple(flags)
    if wrong:
        return unreadable(*wrong)
    try:
        return check_item(read_item(fields), note)
    except RowError as error:
        return unreadable(*error.flags)
    except Exception as error:  # noqa: BLE001 - a fault of ours costs this row its probes, and no other row
        return unreadable("probe_failed", type(error).__name__)


def _note(chunk: Chunk, index: int) -> Note:
    return Note(*chunk.notes[index]) if chunk.notes and chunk.notes[index] is not None else Note()


def check_lines(chunk: Chunk, begin: Callable[[int], None], lost: Mapping[int, str], tally: QaTally) -> bytes:
    """Check a chunk of form ``lines``: its fields as they are spelt, then the results.

    Args:
        chunk: the rows.
        begin: called before each row.
        lost: index of a row -> reason; such a row is not probed.
        tally: counts them.
    """
    out = []
    for index, (place, line) in enumerate(zip(chunk.places, chunk.payload.split(b"\n"), strict=True)):
        fields, wrong = Fields(), [chunk.faults[index]] if index in chunk.faults else []
        if not wrong:
            begin(index)
            try:
                fields = read_line(line, NAMES)
            except RowError as error:
                wrong = list(error.flags)
        checked = check_fields(fields.known, [*wrong, *fields.flags, *([lost[index]] if index in lost else [])], _note(chunk, index))
        tally.count(checked, "line", place, fields.known.get("id"))
        known = ((f'"{name}"', fields.texts[name]) for name in FIELDS if name in fields.texts)
        out.append(_spell([*known, *fields.carried], checked))
    return "".join(out).encode("utf-8", "backslashreplace")  # half a surrogate pair becomes its escape


_SPELT = {None: "null", True: "true", False: "false"}


def _spell(carried: Iterable[tuple[str, str]], checked: Checked) -> str:
    """A checked row as a line of JSON; names and values of ``carried`` are JSON text already."""
    fields = [f"{name}:{value}" for name, value in carried]
    evidence, probes = (json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in (checked.evidence, checked.probes))
    fields += [
        f'"state":"{checked.state}"', f'"reasons":[{",".join(map(quoted, checked.reasons))}]', f'"grounded":{_SPELT[checked.grounded]}',
        f'"self_contained":{_SPELT[checked.self_contained]}', f'"evidence":{evidence}', f'"probes":{probes}',
    ]  # fmt: skip
    return f"{{{','.join(fields)}}}\n"


def _check_batch(chunk: Chunk, begin: Callable[[int], None], lost: Mapping[int, str], tally: QaTally, out: str) -> bytes:
    import pyarrow as pa

    from udfs.probes.columns import checked_batch
    from udfs.verifiers.grade_batch import BROKEN, column_values, packed

    with pa.ipc.open_stream(chunk.payload) as stream:
        rows = stream.read_all()
    columns = {name: column_values(rows.column(name), known=True) for name in FIELDS if name in rows.column_names}
    found = []
    for index, place in enumerate(chunk.places):
        begin(index)
        fields = {name: values[index] for name, values in columns.items()}
        wrong = [f"bad_value_{name}" for name, value in fields.items() if value is BROKEN]
        found.append(check_fields(fields, [*wrong, *([lost[index]] if index in lost else [])], _note(chunk, index)))
        tally.count(found[-1], "row", place, fields.get("id"))
    carried = rows.select([name for name in rows.column_names if name not in RESULTS])
    return packed(checked_batch(carried, found)) if out == "batch" else _as_lines(carried, found)


def _as_lines(carried: pa.Table, found: list[Checked]) -> bytes:
    from udfs.verifiers.grade_batch import column_values, value_json

    values = {name: column_values(carried.column(name), known=False) for name in carried.column_names}
    out = [
        _spell(((value_json(name), value_json(column[at])) for name, column in values.items()), checked) for at, checked in enumerate(found)
    ]
    return "".join(out).encode("utf-8", "backslashreplace")
