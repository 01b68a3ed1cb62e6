"""What audits say about the models that check converted questions, by conversion and domain; needs no JVM."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.views.reader import LakeReader, alias
from jobs.workspace import Workspace
from schemas.silver.judge_audits import JUDGE_AUDITS
from udfs.judging.calibration import Calibration


@dataclass(frozen=True)
class AuditedChecker:
    """Figures of one checker in one conversion, over one domain or (None) all of them; ``flaws``: bad items it let pass, by what is wrong with them."""

    ingest_id: str
    model: str
    template: str
    domain: str | None
    calibration: Calibration
    flaws: dict[str, int]


def audited_checkers(workspace: Workspace, reader: LakeReader | None = None) -> list[AuditedChecker]:
    """All checkers that were audited, in order of conversion, model, template and domain.

    Raises:
        NoLakeError: the workspace holds no lake.
    """
    held = reader or LakeReader.open(workspace)
    rows = held.select(f"SELECT * FROM {alias(JUDGE_AUDITS)} ORDER BY ingest_id, model, template, domain, audit_id", JUDGE_AUDITS)
    made = []
    for key in dict.fromkeys((row["ingest_id"], row["model"] or "", row["template"]) for row in rows):
        own = [row for row in rows if (row["ingest_id"], row["model"] or "", row["template"]) == key]
        for domain in (None, *sorted({row["domain"] for row in own})):
            of = [row for row in own if domain in (None, row["domain"])]
            missed: dict[str, int] = {}
            for row in of:
                if row["label"] == "bad" and row["verdict"] == "passed":
                    missed[row["flaw"]] = missed.get(row["flaw"], 0) + 1
            made.append(AuditedChecker(*key, domain, Calibration.of(of), dict(sorted(missed.items()))))
    return made
