"""Counts of checked rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from udfs.probes.item import Checked
from udfs.verifiers.chunks import NAMED

#: Of which a row may be one, beside its state.
FIGURES = ("self_contained", "not_self_contained", "grounded", "not_grounded", "tells_sibling", "has_siblings")


@dataclass(slots=True)
class QaTally:
    """Counts of checked rows.

    Attributes:
        states: state -> rows.
        languages: language (``und`` where unknown) -> state -> rows.
        reasons: reason -> rows; a row may have several.
        figures: see ``FIGURES``.
        errors: the first rows that could not be read: line or row, id, reasons.
    """

    states: Counter[str] = field(default_factory=Counter)
    languages: dict[str, Counter[str]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    figures: Counter[str] = field(default_factory=Counter)
    errors: list[dict[str, Any]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """All of them."""
        return self.states.total()

    def count(self, checked: Checked, where: str, place: int, ident: Any) -> None:
        """One row more; ``where`` is ``line`` (from 1) or ``row`` (from 0)."""
        self.states[checked.state] += 1
        self.reasons.update(checked.reasons)
        if not checked.readable:
            if len(self.errors) < NAMED:
                self.errors.append({where: place, "id": ident if isinstance(ident, (str, int)) else None, "flags": list(checked.reasons)})
            return
        self.languages.setdefault(checked.probes["language"] or "und", Counter())[checked.state] += 1
        probes = checked.probes
        if checked.self_contained is not None:
            self.figures["self_contained" if checked.self_contained else "not_self_contained"] += 1
        if checked.grounded is not None:
            self.figures["grounded" if checked.grounded else "not_grounded"] += 1
        self.figures.update(["has_siblings"] * bool(probes["siblings"]) + ["tells_sibling"] * bool(probes["siblings_told"]))

    def add(self, counts: Mapping[str, Any]) -> None:
        """The counts, as :meth:`plain` gives them, of the rows that follow."""
        self.states.update(counts["states"])
        for language, states in counts["languages"].items():
            self.languages.setdefault(language, Counter()).update(states)
        self.reasons.update(counts["reasons"])
        self.figures.update(counts["figures"])
        self.errors.extend(counts["errors"][: NAMED - len(self.errors)])

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "states": dict(sorted(self.states.items())),
            "languages": {language: dict(sorted(states.items())) for language, states in sorted(self.languages.items())},
            "reasons": dict(sorted(self.reasons.items())),
            "figures": dict(sorted(self.figures.items())),
            "errors": self.errors,
        }
