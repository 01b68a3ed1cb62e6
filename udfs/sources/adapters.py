"""Every format of a source by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.errors import VerilakeError
from udfs.sources import document
from udfs.sources.choices import mmlu
from udfs.sources.conversations import conversations
from udfs.sources.item import SourceItem, SourceKind
from udfs.sources.maths import gsm8k, math
from udfs.sources.programs import humaneval, mbpp
from udfs.sources.questions import constrained, qa
from udfs.sources.safety import safety


class UnknownAdapterError(VerilakeError):
    """A format that verilake does not know."""

    exit_code = 2

    @classmethod
    def from_name(cls, name: str) -> UnknownAdapterError:
        """Which, and which there are."""
        return cls(f"--as {name}: no such format. There are: {', '.join(sorted(ADAPTERS))}.")


@dataclass(frozen=True, slots=True)
class Adapter:
    """One format.

    Attributes:
        name: as the command calls it.
        version: raised by whatever may change an item.
        source_kind: what its tasks stand on.
        read: makes an item of a record; raises ``RecordError`` where it is none.
        private: records may hold personal data: only what the item keeps is stored, no raw bytes.
    """

    name: str
    version: int
    source_kind: SourceKind
    read: Callable[[Mapping[str, Any]], SourceItem]
    private: bool = False

    @property
    def label(self) -> str:
        """``name@version``, as silver.qa.template records it."""
        return f"{self.name}@{self.version}.{document.VERSION}"


ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (
        Adapter("gsm8k", 1, "benchmark", gsm8k),
        Adapter("math", 1, "benchmark", math),
        Adapter("mmlu", 1, "benchmark", mmlu),
        Adapter("humaneval", 1, "benchmark", humaneval),
        Adapter("mbpp", 1, "benchmark", mbpp),
        Adapter("qa", 1, "benchmark", qa),
        Adapter("format", 1, "format", constrained),
        Adapter("safety", 1, "safety", safety),
        Adapter("conversations", 1, "conversation", conversations, private=True),
    )
}


def adapter_named(name: str) -> Adapter:
    """The adapter of this name.

    Raises:
        UnknownAdapterError: there is none.
    """
    if name not in ADAPTERS:
        raise UnknownAdapterError.from_name(name)
    return ADAPTERS[name]


def source_kind_of(engine: str, template: str) -> SourceKind:
    """What a candidate of one of our engines stands on.

    Args:
        engine: silver.qa.engine, ``adapter`` or ``generator``.
        template: silver.qa.template.
    """
    return "generator" if engine == "generator" else adapter_named(template.partition("@")[0]).source_kind
