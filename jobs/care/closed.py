"""Which slices nobody writes any more: rounds that are closed, ingests that are admitted."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.lake.layout import Lake
from jobs.ledger import read_events
from schemas.bronze.documents import DOCUMENTS
from schemas.ops.rounds import ROUNDS
from schemas.silver.qa_verdicts import QA_VERDICTS
from schemas.table import Table


@dataclass(frozen=True)
class Closed:
    """What is done with.

    Attributes:
        rounds: closed by feedback.
        ingests: admitted.
        corpus: whether every ingest is.
    """

    rounds: frozenset[str]
    ingests: frozenset[str]
    corpus: bool

    def holds(self, table: Table, value: str) -> bool:
        """Whether a slice of a table is done with."""
        kind, _, inner = value.partition("=")
        if table.partition == "round":
            return value in self.rounds
        if table.partition == "ingest_id":
            return value in self.ingests
        if table.partition == "run_id":
            return self.corpus
        if table.partition == "origin":
            return inner in (self.ingests if kind == "ingest" else self.rounds) or kind in {"takedown", "decontaminate"}
        return table.partition == "eval_id"


def closed(lake: Lake) -> Closed:
    """What is done with, from the ledger of rounds and the tables."""
    rounds = {str(event["round"]) for event in read_events(lake, ROUNDS) if event["seq"] >= 4}  # closed; jobs/rounds.py
    ingests = set(lake.slices(QA_VERDICTS))
    filled = {value for value, commit in lake.slices(DOCUMENTS).items() if commit.rows > 0}
    return Closed(frozenset(rounds), frozenset(ingests), corpus=filled <= ingests)
