"""The interface between the loop that claims shards and what is done with their items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from schemas.errors import VerilakeError

Item = dict[str, Any]
Row = dict[str, Any]
Clock = Callable[[], datetime]
#: Called with the keys of items before an engine is given them, so that a death tells which item was in flight.
Begun = Callable[[Sequence[str]], None]

#: What an engine may raise on one item: data that it cannot digest. Anything else is a fault of the worker and ends it.
ITEM_ERRORS = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RuntimeError, SyntaxError, MemoryError, VerilakeError)


@dataclass(frozen=True)
class Finished:
    """An item with all its rows, failed or not."""

    key: str
    rows: list[Row]


@dataclass(frozen=True)
class Origin:
    """Who makes the rows, and of which shard."""

    worker_id: str
    attempt: int
    shard: str = ""


class Program(Protocol):
    """What is done with the items of a shard. An engine that batches may finish them in any order."""

    def generate(self, items: Sequence[Item], origin: Origin, begun: Begun) -> Iterator[Finished]:
        """Every item once, finished; one on which the engine raises has rows with a failure class."""

    def failed(self, item: Item, origin: Origin, failure_class: str, reason: str) -> Finished:
        """The rows of an item that was not answered."""


def failure_class_of(error: BaseException) -> str:
    """G§3's class of what an engine raised."""
    return "oom" if isinstance(error, MemoryError) else "engine_error"


def describe(error: BaseException) -> str:
    """What was raised, in one line of at most 500 characters."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:500]
