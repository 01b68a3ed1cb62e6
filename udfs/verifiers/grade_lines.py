"""A chunk of JSON lines graded: one line out for each line in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from udfs.verifiers.chunks import Chunk, Tally
from udfs.verifiers.graded import Graded, refused
from udfs.verifiers.lines import Fields, read_line
from udfs.verifiers.registry import Verifier, grade_fields
from udfs.verifiers.rows import FIELDS, RowError

#: Told before each row: its index in the chunk and the verifier that it names.
Begin = Callable[[int, Any], None]
#: A text as a string of JSON.
quoted: Callable[[str], str] = json.encoder.encode_basestring
#: Code points of an id that the summary shows.
_SHOWN = 80


def grade_lines(
    chunk: Chunk, table: Mapping[str, Verifier], begin: Begin, lost: Mapping[int, str], *, keep_inputs: bool
) -> tuple[bytes, Tally]:
    """Grade a chunk of form ``lines``.

    Args:
        chunk: the rows.
        table: the verifiers.
        begin: called before each row.
        lost: index of a row -> flag of its ``error``; such a row is not graded, for it has ended processes before.
        keep_inputs: also write the fields of the contract (gold, answer, ...), not only its id and what is unknown.
    """
    tally, out = Tally(), []
    for index, (place, line) in enumerate(zip(chunk.places, chunk.payload.split(b"\n"), strict=True)):
        fields = Fields()
        if index in chunk.faults:
            graded = refused(None, chunk.faults[index])
        else:
            begin(index, None)
            try:
                fields = read_line(line)
            except RowError as error:
                graded = refused(None, *error.flags)
            else:
                graded = grade_one(fields.known, fields.flags, index, table, begin, lost)
        count(tally, "line", place, fields.known, table, graded)
        out.append(spell(graded, fields.texts.get("id", "null"), _carried(fields, keep_inputs=keep_inputs)))
    return "".join(out).encode("utf-8", "backslashreplace"), tally  # half a surrogate pair becomes its escape


def grade_one(
    fields: Mapping[str, Any], flags: Sequence[str], index: int, table: Mapping[str, Verifier], begin: Begin, lost: Mapping[int, str]
) -> Graded:
    """Grade a row, unless something was wrong with it already."""
    if flags or index in lost:
        return refused(None, *flags, *([lost[index]] if index in lost else []))
    begin(index, fields.get("verifier"))
    return grade_fields(fields, table)


def count(tally: Tally, where: str, place: int, fields: Mapping[str, Any], table: Mapping[str, Verifier], graded: Graded) -> None:
    """Add a row to the counts."""
    name = fields.get("verifier")
    tally.count(name if isinstance(name, str) and name in table else "unknown", graded.verdict, graded.tier)
    if graded.verdict == "error":
        ident = fields.get("id")
        tally.name(where, place, str(ident)[:_SHOWN] if isinstance(ident, str) else ident if isinstance(ident, int) else None, graded.flags)


def spell(graded: Graded, ident: str, carried: Iterable[tuple[str, str]]) -> str:
    """A graded row as a line of JSON; ``ident`` and ``carried`` are JSON text already."""
    extracted = "null" if graded.extracted is None else quoted(graded.extracted)
    by = "null" if graded.by is None else quoted(graded.by)
    reward = "null" if graded.reward is None else repr(float(graded.reward))
    rest = "".join([f",{name}:{value}" for name, value in carried])
    return (
        f'{{"id":{ident},"verdict":"{graded.verdict}","reward":{reward},"extracted":{extracted},"verifier_version":{by}'
        f',"flags":[{",".join(map(quoted, graded.flags))}]{rest}}}\n'
    )


def _carried(fields: Fields, *, keep_inputs: bool) -> Iterator[tuple[str, str]]:
    if keep_inputs:
        yield from ((quoted(name), fields.texts[name]) for name in FIELDS if name in fields.texts and name != "id")
    yield from fields.carried
