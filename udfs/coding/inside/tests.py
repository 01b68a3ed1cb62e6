"""The sandbox of tests that are code: runs them one by one against proxies of the candidate, and reports each with the nonce."""

from __future__ import annotations

import builtins
from typing import Any

from udfs.coding.inside.peer import CandidateGoneError, Named, Peer, Pipe, fresh_module, told


class NumberWantedError(AssertionError):
    """The candidate answered True or False where a number is expected."""


def equal(answer: Any, expected: Any) -> bool:
    """``answer == expected``, except that a bool is no number: True for 1 is a guess that Python would let pass.

    The reverse is let pass, because golds of public data sets have 1 for True.
    """
    if not answer == expected:  # noqa: SIM201 - what a test wrote
        return False
    if _bool_for_number(answer, expected):
        raise NumberWantedError
    return True


def _bool_for_number(answer: Any, expected: Any) -> bool:
    if type(answer) is bool:
        return type(expected) in {int, float, complex}
    if type(answer) in {list, tuple} and type(expected) is type(answer):
        return any(map(_bool_for_number, answer, expected))
    if isinstance(answer, dict) and isinstance(expected, dict):
        return any(_bool_for_number(answer[key], expected[key]) for key in expected)
    return False


class Bench:
    """The tests' namespace."""

    def __init__(self, pipe: Pipe) -> None:
        self.peer = Peer(pipe, trusting=False)
        self.nonce: str | None = None
        self.names: dict[str, Any] = {}

    def start(
        self, nonce: str, setup: str, modules: list[str], entry: str | None, alias: str | None, own: list[str], found: list[Any]
    ) -> list[Any]:
        """Lay the namespace: modules that the tests use without importing them, their setup, then the candidate's names.

        The setup comes first and sees nothing of the candidate. A name that the setup defines, or a builtin, is never the candidate's,
        unless ``own`` says so of it.
        """
        self.nonce = nonce
        names = self.names = fresh_module("tests")
        try:
            names.update({module: __import__(module) for module in modules})
            exec(compile(setup, "<setup>", "exec"), names)  # noqa: S102 - this is the sandbox
        except BaseException as error:  # noqa: BLE001
            return ["result", nonce, "start", "broken", *told(error)[:2]]
        try:
            for name, kind, bases in found:
                if name in own or not (name in names or hasattr(builtins, name)):
                    names[name] = self._stand_in(name, kind, bases)
        except BaseException as error:  # noqa: BLE001 - the candidate's doing: it was asked for values
            return ["result", nonce, "start", "unbound", *told(error)[:2]]
        names["__verilake_equal__"] = equal
        if alias is not None and entry is not None:
            names[alias] = names[entry]
        return ["result", nonce, "start", "passed", "", ""]

    def _stand_in(self, name: str, kind: str, bases: list[str]) -> Any:
        if kind == "exception":
            known = (getattr(builtins, b, None) for b in bases)
            base = next((k for k in known if isinstance(k, type) and issubclass(k, BaseException)), Exception)
            self.peer.errors[name] = type(name, (base,), {})
            return self.peer.errors[name]
        if kind == "value":
            return self.peer.ask(["name", name])
        return Named(self.peer, name)

    def test(self, index: int, source: str, age: int) -> list[Any]:
        """Run one test: passed, gone (the candidate was), failed with the class of what was raised and, if the candidate raised it, its message."""
        self.peer.age = age
        try:
            exec(compile(source, f"<test {index}>", "exec"), self.names)  # noqa: S102 - this is the sandbox
        except CandidateGoneError:
            return ["result", self.nonce, index, "gone", "", ""]
        except BaseException as error:  # noqa: BLE001
            remote = getattr(error, "__verilake_remote__", None)
            kind, message, _ = told(error)
            # The message of a test's own assertion may tell the expected value; it stays here.
            return ["result", self.nonce, index, "raised" if remote else "failed", remote or kind, message if remote else ""]
        return ["result", self.nonce, index, "passed", "", ""]


def main() -> None:
    """Serve until the parent closes the pipe."""
    pipe = Pipe()
    bench = Bench(pipe)
    while True:
        message = pipe.receive()
        pipe.send(bench.start(*message[1:]) if message[0] == "start" else bench.test(*message[1:]))


if __name__ == "__main__":
    main()
