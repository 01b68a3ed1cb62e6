"""Files that are logged with a round: pin, manifests, report, figures, funnel, readable samples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from jobs.tracking.published import Publication, set_files
from jobs.tracking.record import RoundRecord
from jobs.tracking.samples import as_lines, as_table, sample_rows
from jobs.views.funnel import read_funnel
from jobs.views.reader import LakeReader
from jobs.views.vocabulary import described
from jobs.workspace import Workspace
from schemas.publication import Manifest

#: Columns of the small table, where a set has them; its JSON lines have all.
_SHOWN = ("prompt_id", "task_type", "form", "prompt", "question", "response", "chosen", "rejected", "answer", "k", "n_valid", "why", "uri")


def manifests_of(workspace: Workspace, publication: Publication) -> dict[str, tuple[bytes, Manifest, dict[str, Path]]]:
    """Sets of the publication whose manifest is in reach."""
    found = {name: set_files(workspace, publication, name) for name in sorted(publication.pin.sets)}
    return {name: held for name, held in found.items() if held is not None}


def write_artifacts(
    workspace: Workspace,
    reader: LakeReader,
    publication: Publication,
    record: RoundRecord,
    sets: Mapping[str, tuple[bytes, Manifest, dict[str, Path]]],
    folder: Path,
    wanted: int,
) -> list[str]:
    """Write everything below ``folder``.

    Args:
        workspace: where report and lake are.
        reader: tables of the lake.
        publication: the round.
        record: its figures.
        sets: from :func:`manifests_of`.
        folder: an empty directory.
        wanted: sample rows of each set.

    Returns:
        Paths below ``folder`` that MLflow may show as tables.
    """
    round_no = publication.pin.round
    _put(folder / "pin.json", publication.raw)
    figures = {"round": round_no, "figures": record.metrics, "metrics": described(record.metrics)}
    _put(folder / "figures.json", _json(figures))
    scopes = ("ingest=", f"round={round_no}")
    sums = [item for item in read_funnel(workspace, reader).sums if item.scope == scopes[1] or item.scope.startswith(scopes[0])]
    _put(folder / "funnel.json", _json({"round": round_no, "sums": [{**asdict(item), "holds": item.holds} for item in sums]}))
    report = workspace.root / "reports" / f"round-{round_no}.html"
    if report.is_file():
        _put(folder / "report.html", report.read_bytes())
    tables = []
    for name, (raw, manifest, files) in sets.items():
        _put(folder / "manifests" / f"{name}.json", raw)
        rows = sample_rows([files[file.path] for file in manifest.files if file.path in files and file.rows], wanted)
        if rows:
            columns = [column for column in _SHOWN if column in rows[0]]
            _put(folder / "samples" / f"{name}.jsonl", as_lines(rows).encode("ascii"))
            _put(folder / "samples" / f"{name}.json", as_table(rows, columns).encode("ascii"))
            tables.append(f"samples/{name}.json")
    return tables


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode("ascii")
