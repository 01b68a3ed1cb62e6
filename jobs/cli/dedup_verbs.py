"""The verb that de-duplicates plain files; no lake and no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.common import ConfFlag, JsonFlag, Output, SetFlag
from jobs.config import load_config


def register(app: typer.Typer) -> None:
    """Add this verb to the command."""
    app.command("dedup")(dedup)


def dedup(
    source: Annotated[Path, typer.Argument(metavar="IN", help="JSONL (plain, .gz, .zst) or Parquet: a file, or a folder of them.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to make: kept/*.parquet, duplicates.parquet, summary.json.")],
    text_field: Annotated[str, typer.Option("--text-field", help="Field that holds the text.")] = "text",
    id_field: Annotated[
        str | None, typer.Option("--id-field", help="Field that names a row: strings or integers. Default: id, or the row's number from 0.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Exact Jaccard from which a document goes: curate.jaccard.")
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", help="verified or components: curate.mode.")] = None,
    conf: ConfFlag = None,
    overrides: SetFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Remove exact and near duplicates from plain files; every removed row names the kept one that it repeats."""
    asked = [f"curate.{key}={value}" for key, value in (("jaccard", threshold), ("mode", mode)) if value is not None]
    curate = load_config(None, conf or (), [*(overrides or ()), *asked]).curate
    from jobs.dedup_files import Options, run
    from udfs.dedup.curve import describe_curve, resolved

    output, curate = Output(as_json), resolved(curate)
    output.console.print(describe_curve(curate.bands, curate.rows), markup=False)
    summary = run(source, out, Options(text_field, id_field or "id", id_field is not None, curate))
    shown = ", ".join(f"{name} {summary[name]:,}" for name in ("documents", "kept", "exact", "near", "rejected"))
    output.console.print(f"{out}: {shown} ({sum(summary['seconds'].values()):.1f} s)", markup=False)
    output.result(summary)
