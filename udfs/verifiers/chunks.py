"""A chunk of rows on its way to a grading process and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

#: ``lines``: JSON lines, joined by line feeds. ``batch``: an Arrow stream of one record batch.
Form = Literal["lines", "batch"]
#: Rows of ``error`` that a chunk names one by one.
NAMED = 20


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows as they came.

    Attributes:
        form: of ``payload``.
        payload: the rows.
        places: where each row stands in the file: line numbers from 1, or row numbers from 0.
        faults: index of a row -> why it is not in the payload as it came (``too_long``); its line is then empty.
        notes: what is known of each row beside it, as JSON holds it; nothing, or one a row.
    """

    form: Form
    payload: bytes
    places: range | list[int]
    faults: Mapping[int, str] = field(default_factory=dict)
    notes: Sequence[Any] = ()

    def __len__(self) -> int:
        return len(self.places)


@dataclass(slots=True)
class Tally:
    """Counts of graded rows.

    Attributes:
        verdicts: verifier (``unknown`` where the row names none) -> verdict -> rows.
        reasons: flag of an ``error`` -> rows.
        errors: the first of those rows: line or row, id, flags.
        tiers: of the sandboxes that ran code.
    """

    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    errors: list[dict[str, Any]] = field(default_factory=list)
    tiers: set[str] = field(default_factory=set)

    @property
    def rows(self) -> int:
        """All of them."""
        return sum(counts.total() for counts in self.verdicts.values())

    def count(self, verifier: str, verdict: str, tier: str | None) -> None:
        """One more row."""
        self.verdicts.setdefault(verifier, Counter())[verdict] += 1
        if tier is not None:
            self.tiers.add(tier)

    def name(self, where: str, place: int, ident: Any, flags: tuple[str, ...]) -> None:
        """A row of ``error``: line 7 (from 1), or row 6 of a Parquet file (from 0)."""
        self.reasons.update(flags)
        if len(self.errors) < NAMED:
            self.errors.append({where: place, "id": ident, "flags": list(flags)})

    def add(self, other: Tally) -> None:
        """The counts of the rows that follow."""
        for verifier, counts in other.verdicts.items():
            self.verdicts.setdefault(verifier, Counter()).update(counts)
        self.reasons.update(other.reasons)
        self.errors.extend(other.errors[: NAMED - len(self.errors)])
        self.tiers.update(other.tiers)

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        verdicts = {name: dict(sorted(counts.items())) for name, counts in sorted(self.verdicts.items())}
        return {"verdicts": verdicts, "reasons": dict(sorted(self.reasons.items())), "errors": self.errors, "tiers": sorted(self.tiers)}

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Tally:
        """The inverse of :meth:`plain`."""
        verdicts = {name: Counter(counts) for name, counts in value["verdicts"].items()}
        return cls(verdicts, Counter(value["reasons"]), list(value["errors"]), set(value["tiers"]))
