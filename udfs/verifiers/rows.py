"""A row to grade, as it is read from a plain file; what cannot be read is named by a flag and never raised beyond the row."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Fields that the contract of ``verilake grade`` knows; everything else is carried through as it came.
FIELDS = ("id", "verifier", "gold", "answer", "unit", "tolerance", "aliases", "options", "tests", "prompt")
#: Fields of a graded row; an input field of such a name is replaced.
RESULTS = ("verdict", "reward", "extracted", "verifier_version", "flags")


class Written(str):
    """A number of the file, spelt as it stands there: ``18`` and ``1.50`` may be given without quotes."""

    __slots__ = ()


class RowError(Exception):
    """A row that cannot be graded, and why: the flags of its ``error``."""

    def __init__(self, *flags: str) -> None:
        super().__init__(", ".join(flags))
        self.flags = flags


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of one row, of the right types.

    Attributes:
        answer: the candidate's whole response, or just its answer; may be empty.
        gold: None where the row has none (only code has tests instead); a list only where the row gives one.
        unit, tolerance, aliases, options: latitude of the answer, see :class:`schemas.contract.AnswerContract`.
        tests: of a code row.
        prompt: text that a completion continues.
    """

    answer: str
    gold: str | list[str] | None = None
    unit: str | None = None
    tolerance: float = 0.0
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    tests: Mapping[str, Any] | None = None
    prompt: str | None = None

    def one_gold(self) -> str:
        """The gold of a verifier that knows one.

        Raises:
            RowError: there is none, or several.
        """
        if self.gold is None:
            raise RowError("missing_gold")
        if isinstance(self.gold, list):
            raise RowError("wrong_type_gold")
        return self.gold


def read_row(fields: Mapping[str, Any]) -> Row:
    """The typed fields of a row; null stands for a field that is not there.

    Raises:
        RowError: with a flag for every field that is missing (``missing_answer``) or of another type (``wrong_type_unit``).
    """
    found: dict[str, Any] = {}
    flags = [] if fields.get("answer") is not None else ["missing_answer"]
    for name, value in fields.items():
        read = _READ.get(name)
        if read is None or value is None:
            continue
        try:
            found[name] = read(value)
        except TypeError:
            flags.append(f"wrong_type_{name}")
    if flags:
        raise RowError(*flags)
    return Row(**found)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):  # of Parquet, or within an array: its shortest spelling
        return str(value)
    raise TypeError


def _gold(value: Any) -> str | list[str]:
    return [_text(part) for part in value] if isinstance(value, list) else _text(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError
    return tuple(_text(part) for part in value)


def _tolerance(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, Written)):
        raise TypeError
    try:
        number = float(value)
    except (ValueError, OverflowError) as error:
        raise TypeError from error
    if not math.isfinite(number) or number < 0:
        raise TypeError
    return number


def _tests(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):  # a column of JSON text, as Parquet files keep what has no common type
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise TypeError from error
    if not isinstance(value, dict):
        raise TypeError
    return {name: part for name, part in value.items() if part is not None}


_READ: dict[str, Callable[[Any], Any]] = {
    "answer": _text, "gold": _gold, "unit": _text, "tolerance": _tolerance, "aliases": _texts, "options": _texts, "tests": _tests, "prompt": _text,
}  # fmt: skip
