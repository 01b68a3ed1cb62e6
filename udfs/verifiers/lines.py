"""One line of JSON as its fields and, for those that are only carried through, their text as it stands there."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from udfs.verifiers.rows import FIELDS, RESULTS, RowError, Written

_KEY = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*')
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_OPEN = re.compile(r"[ \t\r\n]*\{[ \t\r\n]*(\}?)")
_NEXT = re.compile(r"[ \t\r\n]*([,}])[ \t\r\n]*")
#: Reads the value at a place and gives it with the place behind it; integers of more digits than Python converts are a ValueError.
_scan = json.JSONDecoder().raw_decode
#: Likewise; all integers stay text.
_scan_long = json.JSONDecoder(parse_int=Written).raw_decode
_NUMBERS = frozenset({int, float})


@dataclass(frozen=True, slots=True)
class Names:
    """What a contract does with fields.

    Attributes:
        known: they are read.
        dropped: they are left out: results replace them.
    """

    known: frozenset[str]
    dropped: frozenset[str]


#: Of ``verilake grade``.
GRADE = Names(frozenset(FIELDS), frozenset(RESULTS))


@dataclass(slots=True)
class Fields:
    """A line taken apart.

    Attributes:
        known: the fields of the contract, by name.
        texts: the same as they are spelt in the file.
        carried: name and value of all others, as they are spelt in the file.
        flags: ``duplicate_key`` where a name occurs twice, so that its value is ambiguous; the first counts.
    """

    known: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    carried: list[tuple[str, str]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


def read_line(data: bytes, names: Names = GRADE) -> Fields:
    """The fields of a line.

    What is carried through keeps its spelling to the byte: long numbers, ``1.10``, escapes, the order of the keys.

    Args:
        data: without its line feed.
        names: of the contract.

    Raises:
        RowError: ``invalid_utf8``, ``not_json``, ``not_object`` or ``too_deep``.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RowError("invalid_utf8") from error
    try:
        return _object(text, names)
    except RecursionError as error:
        raise RowError("too_deep") from error
    except ValueError as error:
        raise RowError("not_json") from error


def _object(text: str, names: Names) -> Fields:
    found = Fields()
    opening = _OPEN.match(text)
    if opening is None:
        json.loads(text, parse_int=str)
        raise RowError("not_object")
    at, seen = opening.end(), set[str]()
    while not opening.group(1):
        at = _member(text, at, names, found, seen)
        following = _NEXT.match(text, at)
        if following is None:
            raise ValueError
        at = following.end()
        if following.group(1) == "}":
            break
    if text[at:].strip(" \t\r\n"):
        raise ValueError
    return found


def _member(text: str, at: int, names: Names, found: Fields, seen: set[str]) -> int:
    """Reads ``"name": value`` and gives the place behind it."""
    key = _KEY.match(text, at)
    if key is not None:
        name, begin = key.group(1), key.end()
        spelt = f'"{name}"'
    else:  # a name with escapes
        name, end = _scan(text, at)
        colon = _COLON.match(text, end)
        if colon is None or not isinstance(name, str):
            raise ValueError
        spelt, begin = text[at:end], colon.end()
    try:
        value, end = _scan(text, begin)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer of more digits than Python converts
        value, end = _scan_long(text, begin)
    if name in seen:
        found.flags[:] = ["duplicate_key"]
    elif name in names.known:
        said = text[begin:end]
        found.texts[name] = said
        found.known[name] = Written(said) if type(value) in _NUMBERS and name != "id" else value
    elif name not in names.dropped:
        found.carried.append((spelt, text[begin:end]))
    seen.add(name)
    return end
