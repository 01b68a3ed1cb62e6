"""Public formats of benchmark sets as items: GSM8K, MATH, HumanEval, MBPP, and JSONL or Parquet with named fields."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pyarrow as pa

from schemas.errors import InputRefusedError
from udfs.decontamination.items import Item

Adapter = Literal["gsm8k", "math", "humaneval", "mbpp", "jsonl"]
ADAPTERS: tuple[str, ...] = get_args(Adapter)
#: Errors of a file that are named one by one.
_NAMED = 5
#: Calculator notes of GSM8K, which a copy of the solution mostly lacks.
CALCULATED = re.compile(r"<<[^<>]*>>")


class BenchmarkError(InputRefusedError):
    """A benchmark file cannot be taken; nothing was written."""

    @classmethod
    def from_lines(cls, path: str, problems: list[str]) -> BenchmarkError:
        """Every problem, the first few by line."""
        more = f" ... and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        return cls(
            f"{path}: {'; '.join(problems[:_NAMED])}{more}. Nothing was written. Name the format by --adapter ({', '.join(ADAPTERS)}), "
            "and for jsonl the fields by --question-field, --answer-field."
        )

    @classmethod
    def from_file(cls, path: str, why: str) -> BenchmarkError:
        """The file as a whole."""
        return cls(f"{path}: {why}. Nothing was written.")


@dataclass(frozen=True)
class Fields:
    """Names of the fields of the generic format; an empty name reads nothing."""

    question: str = "question"
    answer: str = "answer"
    solution: str = "solution"
    choices: str = "choices"
    tests: str = "tests"
    ident: str = "id"


def read_items(path: Path, adapter: Adapter, fields: Fields | None = None) -> list[Item]:
    """All items of a file, in its order.

    Args:
        path: JSON lines (plain or gzip) or Parquet.
        adapter: format.
        fields: names of the fields, for ``jsonl`` only.

    Raises:
        BenchmarkError: the file is missing, holds no item, or a record is not of the format; with all problems counted.
    """
    make = _MAKERS[adapter] if adapter != "jsonl" else _generic(fields or Fields())
    items: list[Item] = []
    problems: list[str] = []
    for place, record in _records(path):
        try:
            if not isinstance(record, dict):
                raise TypeError("no JSON object")  # noqa: TRY301 -- one place where a record's problem is written down
            item = make(record)
            if not item.question.strip():
                raise ValueError("the question is empty")  # noqa: TRY301
            items.append(item if item.item_id else replace(item, item_id=str(len(items))))
        except KeyError as error:
            problems.append(f"{place}: no field {error.args[0]!r}")
        except (TypeError, ValueError) as error:
            problems.append(f"{place}: {error}")
    if problems:
        raise BenchmarkError.from_lines(str(path), problems)
    if not items:
        raise BenchmarkError.from_file(str(path), "no item in it")
    return distinct(items)


def distinct(items: Sequence[Item]) -> list[Item]:
    """Items with ids that repeat told apart by their ordinal."""
    seen: Counter[str] = Counter()
    out = []
    for item in items:
        seen[item.item_id] += 1
        out.append(item if seen[item.item_id] == 1 else replace(item, item_id=f"{item.item_id}#{seen[item.item_id]}"))
    return out


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
        if head == b"PAR1":
            import pyarrow.parquet as pq

            for number, row in enumerate(pq.read_table(path).to_pylist(), 1):
                yield f"row {number}", row
            return
        with gzip.open(path, "rb") if head[:2] == b"\x1f\x8b" else path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"line {number}", _parsed(line)
    except (OSError, EOFError, pa.ArrowException) as error:
        raise BenchmarkError.from_file(str(path), getattr(error, "strerror", None) or str(error)) from error


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _text(value: Any) -> str:
    """A value as text; lone surrogates, which Arrow cannot carry, become U+FFFD."""
    if value is None:
        return ""
    said = value if isinstance(value, str) else str(value) if isinstance(value, (int, float)) else json.dumps(value, ensure_ascii=False)
    return said.encode("utf-8", "replace").decode("utf-8")


def _needed(record: Mapping[str, Any], *names: str) -> str:
    for name in names:
        if record.get(name) is not None:
            return _text(record[name])
    raise KeyError(names[0])


def _ident(record: Mapping[str, Any], *names: str) -> str:
    return next((_text(record[name]) for name in names if record.get(name) is not None), "")


def _gsm8k(record: Mapping[str, Any]) -> Item:
    solution, _, answer = _needed(record, "answer").partition("####")
    return Item(_ident(record, "id"), _needed(record, "question"), answer.strip(), CALCULATED.sub("", solution).strip())


def _math(record: Mapping[str, Any]) -> Item:
    return Item(
        _ident(record, "unique_id", "id"), _needed(record, "problem", "question"), _text(record.get("answer")), _needed(record, "solution", "answer")
    )  # fmt: skip


def _humaneval(record: Mapping[str, Any]) -> Item:
    return Item(
        _needed(record, "task_id"), _needed(record, "prompt"), solution=_needed(record, "canonical_solution"), tests=_text(record.get("test"))
    )  # fmt: skip


def _mbpp(record: Mapping[str, Any]) -> Item:
    tests = record.get("test_list") or []
    return Item(
        _needed(record, "task_id"), _needed(record, "text", "prompt"), solution=_needed(record, "code"), tests="\n".join(map(_text, tests))
    )


_MAKERS: dict[str, Callable[[Mapping[str, Any]], Item]] = {"gsm8k": _gsm8k, "math": _math, "humaneval": _humaneval, "mbpp": _mbpp}


def _generic(fields: Fields) -> Callable[[Mapping[str, Any]], Item]:
    def make(record: Mapping[str, Any]) -> Item:
        choices, tests = record.get(fields.choices), record.get(fields.tests)
        options = choices.get("text", list(choices.values())) if isinstance(choices, dict) else choices
        return Item(
            _ident(record, fields.ident), _needed(record, fields.question), _needed(record, fields.answer) if fields.answer else "",
            _text(record.get(fields.solution)), tuple(map(_text, options)) if isinstance(options, (list, tuple)) else (),
            "\n".join(map(_text, tests)) if isinstance(tests, list) else _text(tests),
        )  # fmt: skip

    return make
