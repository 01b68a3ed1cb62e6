"""One round of calls: each asked, and asked once more where its reply could not be read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Generic, NamedTuple, TypeVar

from udfs.conversion.ask import FAILED, Ask, Reply, State
from udfs.conversion.prompts import again

PASSED = "passed"
#: Why a stage failed or was not asked.
MALFORMED, NO_REPLY, NOT_ASKED = "reply:malformed", "reply:none", "budget"

_T = TypeVar("_T")


class Outcome(NamedTuple, Generic[_T]):
    """What came of one call: a value that could be read, or how it ended."""

    value: _T | None
    state: State = "passed"
    reason: str = PASSED


def asked(asks: list[Ask], readers: Sequence[Callable[[str], _T | None]]) -> Generator[Sequence[Ask], Sequence[Reply], list[Outcome[_T]]]:
    """Ask, and ask once more where the reply could not be read.

    Args:
        asks: calls that do not depend on each other; none are not asked.
        readers: of each one's reply; None says that it is none.

    Raises:
        ValueError: it was sent another number of replies than it asked for.
    """
    if not asks:
        return []
    replies = yield asks
    outcomes = [_read(reply, reader) for reply, reader in zip(_one_each(replies, asks), readers, strict=True)]
    unread = [i for i, outcome in enumerate(outcomes) if outcome.reason == MALFORMED]
    if unread:
        replies = yield [again(asks[i]) for i in unread]
        for i, reply in zip(unread, _one_each(replies, unread), strict=True):
            outcomes[i] = _read(reply, readers[i])
    return outcomes


def _one_each(replies: Sequence[Reply], asks: Sequence[object]) -> Sequence[Reply]:
    if len(replies) != len(asks):
        msg = f"a chain that made {len(asks)} calls was sent {len(replies)} replies"
        raise ValueError(msg)
    return replies


def _read(reply: Reply, reader: Callable[[str], _T | None]) -> Outcome[_T]:
    if isinstance(reply, str):
        value = reader(reply)
        return Outcome(None, "failed", MALFORMED) if value is None else Outcome(value)
    return Outcome(None, "failed", NO_REPLY) if reply == FAILED else Outcome(None, "unasked", NOT_ASKED)
