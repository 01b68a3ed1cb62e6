"""Which ingests are additions of tasks: nothing curates or converts them, and no policy reads their documents, for these hold the golds."""

from __future__ import annotations

from jobs.lake.layout import Lake
from schemas.bronze.documents import DOCUMENTS

#: The job that writes them, as every commit of theirs says.
JOB = "add_tasks"


def added_ingests(lake: Lake) -> frozenset[str]:
    """Ingests that ``verilake tasks`` brought; from Delta's log, without a JVM."""
    return frozenset(commit.slice for commit in lake.commits(DOCUMENTS) if commit.job == JOB)
