"""How Python values cross between the candidate, the tests and the parent: typed JSON, nothing that could act.

This text also runs inside the sandbox, joined with ``peer``; it imports nothing but the interpreter's own C scanner, because ``import json``
(through ``re`` and ``enum``) doubles the start of an interpreter: 28 ms became 58 ms where this was measured.

None, bool, str, float (with nan, inf, -0.0) and ints below 2**63 are written as JSON has them. Everything else is a JSON list led by a tag:

======  ==========================================================================================================
``i``   int in hexadecimal: larger ones, which ``json`` may refuse (more than 4,300 digits)
``c``   complex: real, imag;  ``b`` bytes, as latin-1
``t``   tuple: items;  ``f`` frozenset: items
``l``   list: number, items;  ``s`` set: number, items;  ``B`` bytearray: number, latin-1
``d``   dict: number, [key, value, key, value ...]
``r``   a mutable container that this frame has already given, by its number: what is one object stays one object
``x``   a value of the standard library: name, number, arguments (see ``STANDARD``)
``g``   a builtin type or function, by name (see ``BUILTINS``)
``o``   something else, which stays where it is: kind, handle.  ``p``: the receiver's own object, by the handle it gave; ``n``: by its name
======  ==========================================================================================================

A type is what ``type(x)`` says; a subclass is never taken for its base, so an ``int`` with an ``__eq__`` of its own is an ``o``.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

SMALL = 1 << 63
MAX_DEPTH = 150

#: Builtins that a test may pass by name (``int`` for isinstance, ``len`` as a key); none of them runs text, opens files or reaches into frames.
BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name)
    for name in [
        "abs",
        "all",
        "any",
        "bin",
        "bool",
        "bytearray",
        "bytes",
        "callable",
        "chr",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "frozenset",
        "hash",
        "hex",
        "int",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "object",
        "oct",
        "ord",
        "pow",
        "print",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
}
BUILTINS["NoneType"] = type(None)
BUILTINS.update({name: value for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)})
_NAMES = {id(value): name for name, value in BUILTINS.items()}


class NotPlainError(TypeError):
    """A value that cannot cross."""


def _scanner() -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    """``dumps`` and ``loads`` of the C accelerator that ``json`` itself uses; of ``json`` where the interpreter has none."""
    try:
        import _json

        class Context:
            strict, object_hook, object_pairs_hook, memo = True, None, None, None
            parse_float, parse_int = float, int
            parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.__getitem__

        scan = _json.make_scanner(Context)  # type: ignore[arg-type]  # it reads these attributes alone
        text = _json.encode_basestring_ascii
        make: Any = _json.make_encoder
        write = make(None, repr, text, None, ":", ",", False, False, True)

        def loads(line: str) -> Any:
            try:
                value, end = scan(line, 0)
            except StopIteration:
                raise ValueError("not JSON") from None
            if end != len(line):
                raise ValueError("more than one JSON value")  # noqa: TRY301 - of loads, not of the try around it
            return value

        def dumps(value: Any) -> str:
            return "".join(write(value, 0))

        if loads(dumps([1, -0.0, "\u00e9\ud800", None, True])) == [1, -0.0, "\u00e9\ud800", None, True]:
            return dumps, loads
    except Exception:  # noqa: BLE001, S110 - private to CPython: whatever is amiss, json does the same
        pass
    import json

    return (lambda value: json.dumps(value, separators=(",", ":"))), json.loads


dumps, loads = _scanner()


def _deque(items: list[Any], maxlen: int | None) -> Any:
    from collections import deque

    return deque(items, maxlen)


def _make(module: str, name: str) -> Callable[..., Any]:
    def build(*arguments: Any) -> Any:
        return getattr(__import__(module), name)(*arguments)

    return build


#: name -> (module, mutable, take apart, build). Subclasses of dict and list whose equality is the base's come back as themselves.
STANDARD: dict[str, tuple[str, bool, Callable[[Any], list[Any]], Callable[..., Any]]] = {
    "range": ("builtins", False, lambda x: [x.start, x.stop, x.step], range),
    "Counter": ("collections", True, lambda x: [dict(x)], _make("collections", "Counter")),
    "OrderedDict": ("collections", True, lambda x: [list(x.items())], _make("collections", "OrderedDict")),
    "defaultdict": ("collections", True, lambda x: [dict(x)], lambda pairs: _make("collections", "defaultdict")(None, pairs)),
    "deque": ("collections", True, lambda x: [list(x), x.maxlen], _deque),
    "array": ("array", True, lambda x: [x.typecode, list(x)], _make("array", "array")),
    "Decimal": ("decimal", False, lambda x: [str(x)], _make("decimal", "Decimal")),
    "Fraction": ("fractions", False, lambda x: [x.numerator, x.denominator], _make("fractions", "Fraction")),
    "date": ("datetime", False, lambda x: [x.year, x.month, x.day], _make("datetime", "date")),
    "datetime": (
        "datetime", False, lambda x: [x.year, x.month, x.day, x.hour, x.minute, x.second, x.microsecond], _make("datetime", "datetime"),
    ),
    "time": ("datetime", False, lambda x: [x.hour, x.minute, x.second, x.microsecond], _make("datetime", "time")),
    "timedelta": ("datetime", False, lambda x: [x.days, x.seconds, x.microseconds], _make("datetime", "timedelta")),
}  # fmt: skip


def standard_name(kind: type) -> str | None:
    """The name in ``STANDARD`` of exactly this type; None for subclasses and impostors."""
    name = type.__getattribute__(kind, "__name__")
    entry = STANDARD.get(name) if type(name) is str else None
    module = sys.modules.get(entry[0]) if entry else None
    return name if module is not None and getattr(module, name, None) is kind else None


class Encoder:
    """Writes the values of one frame.

    Args:
        numbers: id -> number of containers that the other side already has (the arguments of the call that is being answered).
        export: gives what cannot cross a kind and a handle; without it such values are refused.
    """

    def __init__(self, numbers: dict[int, int] | None = None, export: Callable[[Any], list[Any]] | None = None) -> None:
        self.numbers = dict(numbers or {})
        self.given: dict[int, Any] = {}
        self.open: set[int] = set()
        self.export = export

    def encode(self, x: Any, depth: int = 0) -> Any:
        """One value; raises NotPlainError for what cannot cross."""
        kind = type(x)
        if x is None or kind is bool or kind is str or kind is float:
            return x
        if kind is int:
            return x if -SMALL < x < SMALL else ["i", hex(x)]
        if depth > MAX_DEPTH:
            raise NotPlainError(f"a value nested deeper than {MAX_DEPTH}")
        if kind is tuple or kind is frozenset:
            return ["t" if kind is tuple else "f", [self.encode(item, depth + 1) for item in x]]
        if kind is list or kind is dict or kind is set or kind is bytearray:
            return self._container(x, kind, depth)
        if kind is bytes:
            return ["b", x.decode("latin-1")]
        if kind is complex:
            return ["c", x.real, x.imag]
        return self._other(x, kind, depth)

    def _number(self, x: Any) -> tuple[int, bool]:
        key = id(x)
        if key in self.open:
            raise NotPlainError("a value that contains itself")
        if key in self.given:
            return self.numbers[key], True
        self.given[key] = x  # kept alive: an id may not be used again within the frame
        return self.numbers.setdefault(key, len(self.numbers)), False

    def _container(self, x: Any, kind: type, depth: int) -> Any:
        number, given = self._number(x)
        if given:
            return ["r", number]
        if kind is bytearray:
            return ["B", number, x.decode("latin-1")]
        self.open.add(id(x))
        items = [part for pair in x.items() for part in pair] if kind is dict else x
        wire = ["l" if kind is list else "d" if kind is dict else "s", number, [self.encode(item, depth + 1) for item in items]]
        self.open.discard(id(x))
        return wire

    def _other(self, x: Any, kind: type, depth: int) -> Any:
        if id(x) in _NAMES and BUILTINS[_NAMES[id(x)]] is x:
            return ["g", _NAMES[id(x)]]
        name = standard_name(kind)
        if name is not None:
            _, mutable, apart, _ = STANDARD[name]
            number, given = self._number(x) if mutable else (-1, False)
            if given:
                return ["r", number]
            self.open.add(id(x))
            wire = ["x", name, number, [self.encode(part, depth + 1) for part in apart(x)]]
            self.open.discard(id(x))
            return wire
        if self.export is None:
            raise NotPlainError(f"a value of type {type.__getattribute__(kind, '__name__')}, which is not plain")
        return self.export(x)


class Decoder:
    """Reads the values of one frame; a container whose number is known is filled again in place.

    Args:
        objects: number -> container that this side gave in the call that is being answered.
        handle: makes what stands for an ``o`` or finds what a ``p`` names; without it both are refused.
    """

    def __init__(self, objects: dict[int, Any] | None = None, handle: Callable[[list[Any]], Any] | None = None) -> None:
        self.objects = dict(objects or {})
        self.handle = handle

    def decode(self, w: Any) -> Any:
        """One value; raises ValueError or TypeError for what is no value."""
        if w is None or type(w) in {bool, str, float, int}:
            return w
        if type(w) is not list or not w or type(w[0]) is not str:
            raise ValueError("not a value")
        tag = w[0]
        if tag in {"l", "d", "s", "B"}:
            return self._container(tag, w[1], w[2])
        if tag in {"t", "f"}:
            return (tuple if tag == "t" else frozenset)(self.decode(item) for item in w[1])
        if tag == "i":
            return int(w[1], 16)
        if tag == "b":
            return str.encode(w[1], "latin-1")
        if tag == "c":
            return complex(w[1], w[2])
        if tag == "r":
            return self.objects[w[1]]
        if tag == "g":
            return BUILTINS[w[1]]
        if tag == "x":
            return self._standard(w[1], w[2], [self.decode(part) for part in w[3]])
        if tag in {"o", "p", "n"} and self.handle is not None:
            return self.handle(w)
        raise ValueError(f"no such value: {tag}")

    def _container(self, tag: str, number: int, content: Any) -> Any:
        kind: Any = {"l": list, "d": dict, "s": set, "B": bytearray}[tag]
        known: Any = self.objects.get(number)
        target: Any = known if type(known) is kind else kind()
        self.objects[number] = target
        if tag == "B":
            target[:] = str.encode(content, "latin-1")
            return target
        parts = [self.decode(item) for item in content]
        if tag == "l":
            target[:] = parts
        else:
            target.clear()
            target.update(zip(parts[::2], parts[1::2], strict=True) if tag == "d" else parts)
        return target

    def _standard(self, name: str, number: int, arguments: list[Any]) -> Any:
        _, mutable, _, build = STANDARD[name]
        made: Any = build(*arguments)
        known: Any = self.objects.get(number)
        if not mutable:
            return made
        if type(known) is type(made):
            if isinstance(made, dict):
                known.clear()
                known.update(made)
            elif name == "deque":
                known.clear()
                known.extend(made)
            else:
                known[:] = made
            made = known
        self.objects[number] = made
        return made
