"""reasoning-gym behind a boundary: its questions and answers where it is installed, and nothing else of it.

Its own scorers are never called: some of them evaluate the text of a response as a program. What they would say is said by our contracts;
an answer that these cannot hold (a grid that has several solutions, say) shows in admission and in the solve rates, and such data sets
should be left out.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Iterator
from typing import Any

from schemas.errors import VerilakeError
from udfs.sources.contracts import contract_from
from udfs.sources.item import RecordError, SourceItem

_PACKAGE = "reasoning-gym"


class GymError(VerilakeError):
    """reasoning-gym cannot be asked."""

    exit_code = 2

    @classmethod
    def from_missing(cls) -> GymError:
        """It is not installed."""
        return cls(
            f"tasks generate gym:...: {_PACKAGE} is not installed here; it is no part of verilake. pip install {_PACKAGE}, or name a family of ours."
        )

    @classmethod
    def from_dataset(cls, name: str, why: str) -> GymError:
        """It has no such data set, or this one cannot be made."""
        return cls(f"tasks generate gym:{name}: {_PACKAGE} cannot make it: {why[:300]}")


def version() -> str:
    """Installed version.

    Raises:
        GymError: it is not installed.
    """
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise GymError.from_missing() from None


def generate(name: str, count: int, seed: int, _levels: range) -> Iterator[SourceItem]:
    """Items of one of its data sets at its default difficulty.

    Args:
        name: of the data set.
        count: how many.
        seed: of the data set.

    Raises:
        GymError: it is not installed, or has no such data set.
    """
    version()
    try:
        made: Any = importlib.import_module("reasoning_gym").create_dataset(name, seed=seed, size=count)
    except Exception as error:  # another's code: whatever it raises means that there is no such data set
        raise GymError.from_dataset(name, f"{type(error).__name__}: {error}") from error
    for at in range(count):
        yield _item(name, made[at], f"gym/{name}/{seed}/{at}")


def _item(name: str, entry: dict[str, Any], ident: str) -> SourceItem:
    kind, question = f"gym_{name}", str(entry.get("question") or "")
    try:
        gold, contract = contract_from({"answer": entry.get("answer")})
    except RecordError:
        return SourceItem(kind, question, refused="unreadable_gold", ident=ident)
    return SourceItem(kind, question, gold, contract, domain=name, ident=ident)
