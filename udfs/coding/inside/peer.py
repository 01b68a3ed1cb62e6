"""One end of the talk between tests and candidate; this text runs inside both sandboxes, joined with ``wire``.

Exactly one side runs at a time: it sends a frame and waits for the next one, and answers requests that come before its own answer does (a
test's function that the candidate calls back). The parent carries every frame and reads each of them.

Requests: ``call``, ``get``, ``set``, ``next``, ``op`` on an object of the other side. Answers: ``ret`` value, arguments as they are now
(null where the call left them alone); ``exc`` class name, message, names of its bases; ``dead`` reason.

Objects that cannot cross stay where they are and are stood for by a ``Remote``. Comparison is never forwarded: an object of the candidate is
equal to nothing but itself, whatever its ``__eq__`` says. The candidate, in turn, may call the functions and step the iterators that a test
hands to it, and read public attributes of objects whose class the tests define; nothing that leads to the test's own names.
"""

from __future__ import annotations

import builtins
import os
import sys
from typing import Any

from udfs.coding.inside.wire import Decoder, Encoder, NotPlainError, dumps, loads

MAX_HANDLES = 100_000
MESSAGE = 500
#: Operations on objects that stay on the other side; none compares.
OPS = [
    "len",
    "getitem",
    "setitem",
    "contains",
    "str",
    "repr",
    "format",
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "radd",
    "rsub",
    "rmul",
    "neg",
    "pos",
    "abs",
    "int",
    "float",
    "index",
    "round",
]


class CandidateGoneError(BaseException):
    """The candidate is gone or out of time; no test can catch this by ``except Exception``."""


class Pipe:
    """Frames of four bytes of length and then JSON, on the two descriptors that the sandbox gives."""

    def __init__(self) -> None:
        self.inbox, self.outbox = int(os.environ.pop("REQUEST_FD")), int(os.environ.pop("RESULT_FD"))
        self._read, self._write = os.read, os.write
        for fd in (self.inbox, self.outbox):
            os.set_inheritable(fd, False)

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            piece = self._read(self.inbox, size - len(got))
            if not piece:
                os._exit(0)  # the parent is done with us
            got += piece
        return got

    def receive(self) -> Any:
        """The next frame."""
        return loads(self._exactly(int.from_bytes(self._exactly(4), "big")).decode("ascii"))

    def send(self, message: Any) -> None:
        """One frame."""
        payload = dumps(message).encode("ascii")
        payload = len(payload).to_bytes(4, "big") + payload
        while payload:
            payload = payload[self._write(self.outbox, payload) :]


class Remote:
    """An object of the other side."""

    __slots__ = ("_age", "_handle", "_kind", "_peer")

    def __init__(self, peer: Peer, kind: str, handle: int) -> None:
        for name, value in (("_peer", peer), ("_kind", kind), ("_handle", handle), ("_age", peer.age)):
            object.__setattr__(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it where it is."""
        return self._peer.call(self._wire(), args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._peer.ask(["get", self._wire(), name])

    def __setattr__(self, name: str, value: Any) -> None:
        self._peer.ask(["set", self._wire(), name, self._peer.encode(value)])

    def __iter__(self) -> Any:
        iterator = self if self._kind == "iter" else self._peer.ask(["op", self._wire(), "iter", []])
        batch = 1
        while True:
            items, error = self._peer.ask(["next", iterator._wire(), batch])  # noqa: SLF001
            yield from items
            if error is not None:
                self._peer.throw(error)
            if len(items) < batch:
                return
            batch = min(batch * 2, 1024)

    def __next__(self) -> Any:
        items, error = self._peer.ask(["next", self._wire(), 1])
        if error is not None:
            self._peer.throw(error)
        if not items:
            raise StopIteration
        return items[0]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Remote) and other._handle == self._handle and other._age == self._age:
            return True
        if other is None:
            return False
        raise TypeError("an object of the candidate is not a plain value: it is compared with nothing")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return int(self._handle)

    def __bool__(self) -> bool:
        return True

    def _wire(self) -> list[Any]:
        if self._age != self._peer.age:
            raise CandidateGoneError("this object went away with an earlier process of the candidate")
        return ["p", self._handle]


def _forward(name: str) -> Any:
    def operation(self: Any, *args: Any) -> Any:
        return self._peer.ask(["op", self._wire(), name, [self._peer.encode(arg) for arg in args]])

    return operation


for _name in OPS:
    setattr(Remote, f"__{_name}__", _forward(_name))


class Peer:
    """This side: its objects that the other side knows, and what it asks of the other.

    Args:
        pipe: the way to the parent.
        trusting: whether the other side may reach any object (the tests, into the candidate) or only what ``reachable`` allows.
    """

    def __init__(self, pipe: Pipe, *, trusting: bool) -> None:
        self.pipe, self.trusting, self.age, self.plain = pipe, trusting, 0, False
        self.names: dict[str, Any] = {}
        self.exported: list[Any] = []
        self.errors: dict[str, Any] = {}

    # --- values ---

    def export(self, x: Any) -> list[Any]:
        """What stands for an object that stays here."""
        if type(x) is Remote or type(x) is Named:
            return x._wire()  # noqa: SLF001 - both are ours
        if self.plain:
            raise NotPlainError(f"a value of type {type.__getattribute__(type(x), '__name__')}, which is not plain")
        kind = "iter" if hasattr(type(x), "__next__") else "call" if callable(x) else "obj"
        if kind == "obj" and not self.trusting and type(x).__module__ != "tests":
            raise NotPlainError(f"a value of type {type(x).__name__}, which is not plain")
        if len(self.exported) >= MAX_HANDLES:
            raise NotPlainError("too many objects that are not plain")
        self.exported.append(x)
        return ["o", kind, len(self.exported) - 1]

    def handle(self, w: list[Any]) -> Any:
        """What an ``o`` or a ``p`` stands for."""
        if w[0] in {"p", "n"}:
            return self.find(w)
        return Remote(self, str(w[1]), int(w[2]))

    def find(self, target: list[Any]) -> Any:
        """The object of this side that the other names."""
        return self.exported[target[1]] if target[0] == "p" else self.names[target[1]]

    def encode(self, x: Any) -> Any:
        """One value, as a frame of its own."""
        return Encoder(export=self.export).encode(x)

    def decode(self, w: Any) -> Any:
        """Likewise."""
        return Decoder(handle=self.handle).decode(w)

    # --- asking ---

    def ask(self, request: list[Any], objects: dict[int, Any] | None = None) -> Any:
        """Send a request, serve what comes in between, return its value or raise its exception."""
        self.pipe.send(request)
        while True:
            answer = self.pipe.receive()
            if answer[0] == "ret":
                decoder = Decoder(objects, self.handle)
                value = decoder.decode(answer[1])
                if answer[2] is not None:
                    decoder.decode(answer[2])
                return value
            if answer[0] == "exc":
                self.throw(answer[1:])
            if answer[0] == "dead":
                raise CandidateGoneError(answer[1])
            self.pipe.send(self.serve(answer))

    def call(self, target: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the other side; its changes to mutable arguments are made here too."""
        encoder = Encoder(export=self.export)
        wire = encoder.encode([list(args), kwargs])
        mine = {encoder.numbers[key]: value for key, value in encoder.given.items()}
        return self.ask(["call", target, wire], mine)

    def throw(self, error: list[Any]) -> None:
        """Raise here what was raised there: a class of the same name where tests or builtins know one, else RuntimeError."""
        name, message, bases = error
        for known in (name, *bases):
            kind = self.errors.get(known) or getattr(builtins, known, None)
            if isinstance(kind, type) and issubclass(kind, BaseException):
                try:
                    raised = kind(message)
                except TypeError:  # UnicodeDecodeError and the like want more
                    continue
                raised.__verilake_remote__ = name  # type: ignore[attr-defined]
                raise raised
        raise RuntimeError(f"{name}: {message}")

    # --- answering ---

    def serve(self, request: list[Any]) -> list[Any]:
        """Answer one request; whatever is raised becomes an ``exc``."""
        try:
            return self._answer(request)
        except CandidateGoneError:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit of a candidate too
            return ["exc", *told(error)]

    def _answer(self, request: list[Any]) -> list[Any]:
        kind = request[0]
        if kind == "call":
            return self._called(request[1], request[2])
        if kind == "next":
            return ["ret", self.encode(self._taken(self.find(request[1]), request[2])), None]
        if kind == "name":
            return ["ret", self.encode(self.names[request[1]]), None]
        target = self.find(request[1])
        if kind == "get":
            self._reachable(target, request[2])
            return ["ret", self.encode(getattr(target, request[2])), None]
        if kind == "set":
            self._reachable(target, request[2])
            setattr(target, request[2], self.decode(request[3]))
            return ["ret", None, None]
        if kind == "op" and (self.trusting or type(target).__module__ == "tests") and (request[2] in OPS or request[2] == "iter"):
            method = getattr(type(target), f"__{request[2]}__", None)
            if method is None:
                raise TypeError(f"object of type {type(target).__name__!r} has no __{request[2]}__")
            return ["ret", self.encode(method(target, *map(self.decode, request[3]))), None]
        raise TypeError(f"no such request: {kind}")

    def _reachable(self, target: Any, name: str) -> None:
        if name.startswith("_") or not (self.trusting or type(target).__module__ == "tests"):
            raise AttributeError(f"{type(target).__name__!r} object has no attribute {name!r}")

    def _called(self, target: list[Any], wire: Any) -> list[Any]:
        function = self.find(target)
        decoder = Decoder(handle=self.handle)
        args, kwargs = decoder.decode(wire)
        numbers = {id(value): number for number, value in decoder.objects.items()}
        plain = len(numbers) == 3  # the two containers of the call itself and the one around them
        before = None if plain else dumps(Encoder(numbers, self.export_again).encode([args, kwargs]))
        value = function(*args, **kwargs)
        encoder = Encoder(numbers, self.export)
        answer = encoder.encode(value)
        if plain or dumps(Encoder(numbers, self.export_again).encode([args, kwargs])) == before:
            return ["ret", answer, None]
        return ["ret", answer, encoder.encode([args, kwargs])]

    def export_again(self, x: Any) -> list[Any]:
        """A handle for comparison only."""
        return ["o", "seen", id(x)]

    def _taken(self, iterator: Any, wanted: int) -> list[Any]:
        items: list[Any] = []
        try:
            for _ in range(wanted):
                items.append(type(iterator).__next__(iterator))  # noqa: PERF401 - what came before an exception is kept
        except StopIteration:
            pass
        except BaseException as error:  # noqa: BLE001
            return [items, told(error)]
        return [items, None]


class Named:
    """A name of the candidate, as the tests use it: called, or asked for an attribute."""

    def __init__(self, peer: Peer, name: str) -> None:
        self._peer, self._name = peer, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it where it is."""
        return self._peer.call(self._wire(), args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._peer.ask(["get", self._wire(), name])

    def _wire(self) -> list[Any]:
        return ["n", self._name]


def told(error: BaseException) -> list[Any]:
    """Class name, message and bases of an exception."""
    try:
        message = str(error)[:MESSAGE]
    except BaseException:  # noqa: BLE001 - a candidate's own __str__
        message = ""
    names = [base.__name__ for base in type(error).__mro__ if base.__name__ not in {"object", "BaseException", "Exception"}]
    return [str(type(error).__name__), message.encode("ascii", "backslashreplace").decode("ascii"), [*names[1:8], "Exception"]]


def fresh_module(name: str) -> dict[str, Any]:
    """The namespace of a new module that dataclasses, pickle and typing can find by its name."""
    module = type(sys)(name)
    sys.modules[name] = module
    builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]  # -S leaves them out, programs use them
    return vars(module)
