"""The parent's side of the two sandboxes: starts them, carries every frame between them, and doubts each.

The candidate's sandbox gets the program and arguments; the tests' sandbox gets tests and a nonce. Neither can reach the other but through
:meth:`Bench.run`, which lets pass nothing but the requests and answers of ``inside.peer`` with values of ``inside.wire``.
"""

from __future__ import annotations

import json
import marshal
import math
import secrets
import sys
import time
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from schemas.code import CodeLimits
from udfs.coding.inside.wire import MAX_DEPTH
from udfs.coding.units import Units
from udfs.sandbox.program import one_file
from udfs.sandbox.sandbox import Sandbox
from udfs.sandbox.spec import ISOLATED, Answer, Job, Limits

#: Why a process gave no answer. ``broken_sandbox`` is ours; all else is what the process did.
FaultKind = Literal["timeout", "oom", "pids", "output_limit", "died", "garbled", "broken_sandbox"]

#: Seconds on the clock between two frames of the tests' process; its processor time has the candidate's limit, and this lies so far beyond that
#: only a stalled machine comes near: then it is ours.
TESTS_WALL = 180.0
#: Bytes of one frame of the candidate, and of the tests, whose arguments may be large.
CANDIDATE_FRAME, TESTS_FRAME = 2 << 20, 8 << 20

_FAULTS: dict[str, FaultKind] = {
    "timeout_wall": "timeout",
    "timeout_cpu": "timeout",
    "oom": "oom",
    "pids": "pids",
    "output_limit": "output_limit",
    "sandbox_error": "broken_sandbox",
}
_TO_CANDIDATE = frozenset({"call", "get", "set", "next", "op", "name", "ret", "exc"})
_TO_TESTS = frozenset({"call", "get", "set", "next", "op", "ret", "exc"})
_LOADED = frozenset({"names", "exc"})
_TAGS = {
    "i": "s",
    "b": "s",
    "c": "ff",
    "t": "v",
    "f": "v",
    "l": "nv",
    "s": "nv",
    "d": "nv",
    "B": "ns",
    "r": "n",
    "x": "snv",
    "g": "s",
    "o": "sn",
    "p": "n",
    "n": "s",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no answer."""

    kind: FaultKind
    reason: str = ""


#: Starts a program from its compiled form, which takes 7 ms less than its text, where the interpreter inside is the one that compiled it.
_START = """import marshal, sys
if sys.version == {version!r}:
    with open("program.bin", "rb") as file:
        code = marshal.loads(file.read())
else:
    with open("program.py", encoding="utf-8") as file:
        code = compile(file.read(), "program.py", "exec")
exec(code)
"""


@cache
def _program(name: str) -> dict[str, bytes]:
    """The files that run inside: wire, peer and one of the two mains, joined, since nothing of ours can be imported there.

    Imports of the names of types go as well: ``typing`` takes as long as the interpreter itself.
    """
    text = one_file("udfs.coding.inside", ("wire", "peer", name), ("from typing ", "from collections.abc ", "from udfs.coding.inside"))
    code = marshal.dumps(compile(text, "program.py", "exec", dont_inherit=True, optimize=2))
    return {"start.py": _START.format(version=sys.version).encode(), "program.bin": code, "program.py": text.encode()}


class Process:
    """One program in a sandbox that answers frames.

    Args:
        sandbox: runs it.
        name: ``candidate`` or ``tests``.
        limits: of its whole life.
        waits: it has no reason to be slow on the clock alone; if it is, the machine has stalled.
    """

    def __init__(self, sandbox: Sandbox, name: str, limits: Limits, *, waits: bool = False) -> None:
        self._waits = waits
        job = Job((*ISOLATED, "start.py"), files=_program(name), limits=limits, requests=True, results=True)
        self._session = sandbox.open(job)
        self.fault: Fault | None = None

    def ask(self, message: list[Any], wall: float) -> Any:
        """The answer to one frame, or a :class:`Fault`; after a fault every further question gets the same."""
        if self.fault is None:
            answer = self._session.call(json.dumps(message, separators=(",", ":")).encode("ascii"), wall)
            if answer.status != "ok":
                kind = _FAULTS.get(answer.status, "died")
                stalled = self._waits and answer.status == "timeout_wall"
                self.fault = Fault("broken_sandbox" if stalled else kind, answer.reason or _last_line(answer))
            else:
                try:
                    return json.loads(answer.payload)
                except (ValueError, RecursionError):
                    self.fault = Fault("garbled")
                self._session.close()
        return self.fault

    def close(self) -> None:
        """End it; nothing of it is left."""
        self._session.close()


def _last_line(answer: Answer) -> str:
    lines = answer.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else answer.status


def _life(limits: CodeLimits) -> float:
    """Seconds on the clock that a process may live at all: each waits for the other, and is ended by its own budget long before."""
    return limits.total * 4 + TESTS_WALL


class Candidate:
    """The candidate's process, started anew after each death, within one budget of time for all of them.

    Attributes:
        faults: of all its processes.
        spent: seconds that it has run so far.
        age: how many times it was started anew.
    """

    def __init__(self, sandbox: Sandbox, sources: list[str], wanted: tuple[str, ...], limits: CodeLimits, *, plain: bool) -> None:
        self._sandbox, self._load, self._limits = sandbox, ["load", sources, list(wanted), plain], limits
        self._process: Process | None = None
        self.faults: list[Fault] = []
        self.spent, self.age = 0.0, 0

    def load(self) -> Any:
        """Start a process and run the program's top level: the names found, or a Fault, or ``exc``."""
        self.close()
        limits = self._limits
        budget = Limits(
            wall=_life(limits),
            cpu=math.ceil(limits.cpu),
            memory=limits.memory_mb << 20,
            output=limits.output_kb << 10,
            result=CANDIDATE_FRAME,
        )
        self._process = Process(self._sandbox, "candidate", budget)
        return self.ask(self._load, self._limits.wall, _LOADED)

    def revive(self) -> bool:
        """Make sure that a process is there for the next test; False where there is no time left or the program does not load again."""
        if self.left <= 0 or self.broken() is not None:
            return False
        if self._process is not None and self._process.fault is None:
            return True
        self.age += 1
        answer = self.load()
        return not isinstance(answer, Fault) and answer[0] == "names"

    def broken(self) -> str | None:
        """Why the sandbox itself failed; None where it did not."""
        return next((fault.reason for fault in self.faults if fault.kind == "broken_sandbox"), None)

    @property
    def left(self) -> float:
        """Seconds of its budget that are left."""
        return self._limits.total - self.spent

    def ask(self, message: list[Any], wall: float, kinds: frozenset[str] = _TO_TESTS) -> Any:
        """One frame to it and the next one back, or the Fault that ended it."""
        if self._process is None:
            raise AssertionError("asked before it was loaded")
        known = self._process.fault
        begun = time.monotonic()
        answer = self._process.ask(message, max(0.0, min(wall, self.left)))
        if not isinstance(answer, Fault) and not _sound(answer, kinds):
            answer = self._process.fault = Fault("garbled")
            self._process.close()
        # Reading what it sent is on its account too: else large frames would hold us longer than its own limit.
        self.spent += time.monotonic() - begun
        if isinstance(answer, Fault) and known is None:
            self.faults.append(answer)
        return answer

    def close(self) -> None:
        """End its process."""
        if self._process is not None:
            self._process.close()
            self._process = None


@dataclass(frozen=True, slots=True)
class Report:
    """What the tests' process says of one test; ``fault`` where it said nothing."""

    outcome: str
    error: str = ""
    message: str = ""
    fault: Fault | None = None


class Bench:
    """The tests' process."""

    def __init__(self, sandbox: Sandbox, candidate: Candidate, limits: CodeLimits) -> None:
        self._candidate, self._limits = candidate, limits
        self._nonce = secrets.token_hex(16)
        bounds = Limits(wall=_life(limits), cpu=math.ceil(limits.cpu), memory=max(512, limits.memory_mb) << 20, result=TESTS_FRAME)
        self._process = Process(sandbox, "tests", bounds, waits=True)

    def start(self, setup: str, units: Units, found: list[Any]) -> tuple[Report, bool]:
        """Run the setup and lay the candidate's names; also tells whether the candidate had been asked for one of their values."""
        message = ["start", self._nonce, setup, list(units.modules), units.entry, units.alias, list(units.shadows), found]
        return self._talk(message, "start", self._limits.wall)

    def run(self, index: int, source: str) -> tuple[Report, bool]:
        """Run one test; also tells whether the candidate had been asked anything."""
        return self._talk(["test", index, source, self._candidate.age], index, self._limits.wall)

    def close(self) -> None:
        """End it."""
        self._process.close()

    def _talk(self, message: list[Any], index: int | str, wall: float) -> tuple[Report, bool]:
        """Carry frames to and fro until the tests report; the candidate's share of the time ends at ``wall``."""
        asked = False
        until = self._candidate.spent + wall
        answer = self._process.ask(message, TESTS_WALL)
        while True:
            if isinstance(answer, Fault):
                return Report("silent", fault=answer), asked
            if type(answer) is list and len(answer) == 6 and answer[0] == "result":
                if answer[1] != self._nonce or answer[2] != index or any(type(part) is not str for part in answer[3:]):
                    return Report("silent", fault=Fault("garbled", "a report without the nonce")), asked
                return Report(answer[3], answer[4], answer[5]), asked
            if not _sound(answer, _TO_CANDIDATE):
                return Report("silent", fault=Fault("garbled")), asked
            reply = self._candidate.ask(answer, until - self._candidate.spent)
            asked = True
            answer = self._process.ask(["dead", reply.kind] if isinstance(reply, Fault) else reply, TESTS_WALL)


def _sound(message: Any, kinds: frozenset[str]) -> bool:
    """Whether a frame is a request or an answer of ``inside.peer`` and every value in it is one of ``inside.wire``."""
    if type(message) is not list or not message or type(message[0]) is not str or message[0] not in kinds:
        return False
    kind, rest = message[0], message[1:]
    if kind == "exc":
        return len(rest) == 3 and type(rest[0]) is str and type(rest[1]) is str and _strings(rest[2])
    if kind == "ret":
        return len(rest) == 2 and _is_plain(rest)
    if kind == "names":
        return len(rest) == 1 and type(rest[0]) is list and all(map(_is_name, rest[0]))
    if kind == "name":
        return len(rest) == 1 and type(rest[0]) is str
    if not rest or not _is_target(rest[0]):
        return False
    if kind == "next":
        return len(rest) == 2 and type(rest[1]) is int and 0 < rest[1] <= 1024
    if kind == "call":
        return len(rest) == 2 and _is_plain([rest[1]])
    if kind == "op":
        return len(rest) == 3 and type(rest[1]) is str and type(rest[2]) is list and _is_plain(rest[2])
    return len(rest) == {"get": 2, "set": 3}[kind] and type(rest[1]) is str and _is_plain(rest[2:])


def _is_target(target: Any) -> bool:
    return type(target) is list and len(target) == 2 and (target[0], type(target[1])) in {("p", int), ("n", str)}


def _is_name(found: Any) -> bool:
    return type(found) is list and len(found) == 3 and type(found[0]) is str and type(found[1]) is str and _strings(found[2])


def _strings(items: Any) -> bool:
    return type(items) is list and all(type(item) is str for item in items)


def _is_plain(values: list[Any]) -> bool:
    """Whether these are values of the wire, nested no deeper than an honest encoder would; without recursion, so that depth cannot hurt."""
    waiting = [(value, 0) for value in values]
    while waiting:
        w, depth = waiting.pop()
        if type(w) is not list:
            if type(w) is dict:
                return False
            continue
        shape = _TAGS.get(w[0]) if w and type(w[0]) is str else None
        if shape is None or len(w) != len(shape) + 1 or depth > MAX_DEPTH + 2:
            return False
        for part, want in zip(w[1:], shape, strict=True):
            if want == "v":
                if type(part) is not list:
                    return False
                waiting.extend((item, depth + 1) for item in part)
            elif type(part) not in {"s": (str,), "n": (int,), "f": (float,)}[want]:
                return False
    return True
