"""The candidate's sandbox: loads the code and answers calls. It knows no test, no expected value and no nonce."""

from __future__ import annotations

from typing import Any

from udfs.coding.inside.peer import Peer, Pipe, fresh_module, told


def kind_of(value: Any) -> str:
    """What a name of the candidate stands for, as far as the tests must know."""
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    if type(value).__name__ == "module":
        return "module"
    return "call" if callable(value) else "value"


def load(peer: Peer, sources: list[str], wanted: list[str]) -> list[Any]:
    """Run the sources in one new module and tell which of the wanted names it has: name, kind, bases of an exception.

    The module is not ``__main__``: what a program does only when it is run is not wanted here.
    """
    names = peer.names = fresh_module("candidate")
    try:
        for source in sources:
            exec(compile(source, "<candidate>", "exec"), names)  # noqa: S102 - this is the sandbox
        found = [[name, kind_of(names[name]), _bases(names[name])] for name in wanted if name in names]
    except BaseException as error:  # noqa: BLE001 - SystemExit at the top level too
        return ["exc", *told(error)]
    return ["names", found]


def _bases(value: Any) -> list[str]:
    if not (isinstance(value, type) and issubclass(value, BaseException)):
        return []
    return [base.__name__ for base in value.__mro__[1:]]


def main() -> None:
    """Serve until the parent closes the pipe."""
    pipe = Pipe()
    peer = Peer(pipe, trusting=True)
    while True:
        message = pipe.receive()
        if message[0] == "load":
            peer.plain = bool(message[3])
            pipe.send(load(peer, message[1], message[2]))
        else:
            pipe.send(peer.serve(message))


if __name__ == "__main__":
    main()
