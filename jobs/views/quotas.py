"""How full the cells of the pool are: tasks by domain and answer type, and which of them still teach; needs no JVM."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.views.reader import LakeReader, alias
from schemas.conf_convert import Quotas
from schemas.gold.tasks import TASKS
from schemas.silver.task_stats import TASK_STATS
from udfs.conversion.quotas import cell_of, lacking


@dataclass(frozen=True)
class CellFill:
    """One cell of the pool.

    Attributes:
        cell: domain/answer_type.
        wished, filled, lacking: tasks.
    """

    cell: str
    wished: int
    filled: int
    lacking: int


def filled_cells(reader: LakeReader, band: tuple[float, float]) -> dict[str, int]:
    """Cell -> active tasks, in their newest version, that a policy solves sometimes, or that none has tried; 0 where there are only others.

    What a policy can do is the posterior mean of the newest round that tried the task closed-book, as the plan sees it. Tasks that constrain
    the form of another one's answer are that other one again, and count nothing.

    Args:
        reader: tables of the lake.
        band: lowest and highest solve rate of the capability band.
    """
    newest = f"SELECT *, row_number() OVER (PARTITION BY task_id ORDER BY version DESC) AS place FROM {alias(TASKS)}"
    tried = (
        "SELECT task_id, posterior_mean, row_number() OVER (PARTITION BY task_id ORDER BY round DESC, pooled_n DESC, prompt_id) AS place "
        f"FROM {alias(TASK_STATS)} WHERE context_mode <> 'open_book'"
    )
    counts = f"s.posterior_mean IS NULL OR s.posterior_mean BETWEEN {band[0]!r} AND {band[1]!r}"
    sql = (
        f"SELECT t.domain, t.answer_type, CAST(sum(CASE WHEN {counts} THEN 1 ELSE 0 END) AS bigint) AS filled FROM ({newest}) t "
        f"LEFT JOIN ({tried}) s ON t.task_id = s.task_id AND s.place = 1 "
        "WHERE t.place = 1 AND t.status = 'active' AND t.source_kind <> 'constraint' GROUP BY t.domain, t.answer_type"
    )
    found = {cell_of(row["domain"], row["answer_type"]): row["filled"] for row in reader.select(sql, TASKS, TASK_STATS)}
    return dict(sorted(found.items()))


def quota_cells(reader: LakeReader, quotas: Quotas, band: tuple[float, float]) -> list[CellFill]:
    """What each cell of conversion's quotas holds and lacks."""
    filled = filled_cells(reader, band)
    lack = lacking(quotas.per_cell, quotas.cells, filled)
    return [CellFill(cell, quotas.per_cell, filled.get(cell, 0), count) for cell, count in lack.items()]
