"""What became of documents in conversion, stage by stage, and what each useful item cost; needs no JVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobs.views.reader import LakeReader, alias
from jobs.workspace import Workspace
from schemas.gold.tasks import TASKS
from schemas.silver.conversions import CONVERSIONS
from schemas.silver.qa import QA
from schemas.silver.qa_verdicts import QA_VERDICTS
from schemas.silver.task_stats import TASK_STATS
from udfs.replies.prices import NANOS

#: Stages in their order; ``extract`` is the whole of an engine by rules.
STAGES = ("extract", "filter", "identify", "generate", "evidence", "check")


@dataclass(frozen=True)
class StageCost:
    """One stage in one domain, for one persona where asked for.

    Attributes:
        stage, domain, persona: which; domain and persona None where none is known, or where they are summed over.
        states: documents (or candidates) by state.
        draws, prompt_tokens, cached_tokens, completion_tokens: of all replies.
        price: money, by the price table in force when the conversion was taken in.
    """

    stage: str
    domain: str | None
    persona: str | None
    states: dict[str, int]
    draws: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    price: float

    @property
    def total(self) -> int:
        """Documents, or candidates, that came to the stage."""
        return sum(self.states.values())

    @property
    def passed(self) -> float:
        """Share that passed."""
        return self.states.get("passed", 0) / self.total if self.total else 0.0


@dataclass(frozen=True)
class ConversionCosts:
    """Prices of what conversion led to.

    Attributes:
        stages: by stage and domain (and persona).
        price: of all of it.
        candidates: rows of silver.qa that passed the engine's own checks.
        admitted: tasks that came of them.
        in_band: tasks of them that some policy solves sometimes: posterior probability of the band at least one half.
    """

    stages: list[StageCost]
    price: float
    candidates: int
    admitted: int
    in_band: int

    def per(self, count: int) -> float | None:
        """Price of one; None where there is none, or nothing was paid."""
        return self.price / count if count and self.price else None


def conversion_costs(
    workspace: Workspace, reader: LakeReader | None = None, *, ingest_id: str | None = None, by_persona: bool = False
) -> ConversionCosts:
    """Yield, tokens and money of conversion by stage and domain.

    Args:
        workspace: where.
        reader: its tables, where they are open already.
        ingest_id: of this ingest alone.
        by_persona: a line for each persona as well.

    Raises:
        NoLakeError: the workspace holds no lake.
    """
    held = reader or LakeReader.open(workspace)
    where = "" if ingest_id is None else f"WHERE ingest_id = '{ingest_id}'"
    stages = _stages(held, where, by_persona=by_persona)
    passed = "filter_reason IS NULL" if not where else f"filter_reason IS NULL AND ingest_id = '{ingest_id}'"
    admitted = f"SELECT qa_id FROM {alias(QA_VERDICTS)} WHERE state = 'admitted'" + (f" AND ingest_id = '{ingest_id}'" if where else "")
    in_band = (
        f"SELECT count(DISTINCT s.task_id) AS n FROM {alias(TASK_STATS)} s JOIN {alias(TASKS)} t ON s.task_id = t.task_id "
        f"JOIN ({admitted}) a ON t.qa_id = a.qa_id WHERE s.p_in_band >= 0.5"
    )
    return ConversionCosts(
        stages,
        sum(stage.price for stage in stages),
        _count(held.select(f"SELECT count(*) AS n FROM {alias(QA)} WHERE {passed}", QA)),
        _count(held.select(f"SELECT count(*) AS n FROM ({admitted}) a", QA_VERDICTS)),
        _count(held.select(in_band, TASK_STATS, TASKS, QA_VERDICTS)),
    )


def _stages(reader: LakeReader, where: str, *, by_persona: bool) -> list[StageCost]:
    persona = "persona" if by_persona else "CAST(NULL AS varchar)"
    sums = ", ".join(f"sum({name}) AS {name}" for name in ("draws", "prompt_tokens", "cached_tokens", "completion_tokens", "price_nanos"))
    came = f"SELECT * FROM {alias(CONVERSIONS)} WHERE reason <> 'quota'"  # what quotas passed over came to no stage
    sql = (
        f"SELECT stage, domain, {persona} AS persona, state, count(*) AS n, {sums} FROM ({came}) c {where} "
        "GROUP BY stage, domain, 3, state ORDER BY stage, domain, 3, state"
    )
    found: dict[tuple[str, str | None, str | None], list[dict[str, Any]]] = {}
    for row in reader.select(sql, CONVERSIONS):
        found.setdefault((row["stage"], row["domain"], row["persona"]), []).append(row)
    made = [
        StageCost(
            stage=stage,
            domain=domain,
            persona=name,
            states={row["state"]: row["n"] for row in rows},
            draws=sum(row["draws"] for row in rows),
            prompt_tokens=sum(row["prompt_tokens"] for row in rows),
            cached_tokens=sum(row["cached_tokens"] for row in rows),
            completion_tokens=sum(row["completion_tokens"] for row in rows),
            price=sum(row["price_nanos"] for row in rows) / NANOS,
        )
        for (stage, domain, name), rows in found.items()
    ]
    return sorted(made, key=lambda cost: (STAGES.index(cost.stage), cost.domain or "", cost.persona or ""))


def _count(rows: list[dict[str, Any]]) -> int:
    return int(rows[0]["n"]) if rows else 0
