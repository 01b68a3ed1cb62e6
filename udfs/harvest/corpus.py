"""Writes the demonstration corpus: three sources in three file formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from schemas.errors import InputRefusedError
from udfs.harvest.licences import licence_records
from udfs.harvest.record import Record, Writer, write_jsonl_gz, write_jsonl_zst, write_parquet
from udfs.harvest.stdlib import stdlib_records
from udfs.harvest.topics import topic_records


@dataclass(frozen=True, slots=True)
class HarvestSummary:
    """Files written and documents in each, by file name."""

    out_dir: Path
    documents: dict[str, int]

    @property
    def total(self) -> int:
        """Documents in all."""
        return sum(self.documents.values())


def harvest(out_dir: Path, *, limit: int | None = None) -> HarvestSummary:
    """Write the corpus below ``out_dir``; equal installations give equal bytes.

    Args:
        out_dir: folder, made where it is missing; files of an earlier harvest are replaced.
        limit: at most this many documents a file (for trials); None for all.

    Raises:
        InputRefusedError: ``out_dir`` is a file.
    """
    if out_dir.exists() and not out_dir.is_dir():
        raise InputRefusedError(f"{out_dir} is a file. Name a folder for the corpus.")
    out_dir.mkdir(parents=True, exist_ok=True)
    sources: list[tuple[str, Iterable[Record], Writer]] = [
        ("python_reference.jsonl.gz", topic_records(), write_jsonl_gz),
        ("stdlib_api.jsonl.zst", stdlib_records(limit), write_jsonl_zst),
        ("licences.parquet", licence_records(), write_parquet),
    ]
    documents: dict[str, int] = {}
    for name, records, write in sources:
        kept = sorted(islice((item for item in records if item.storable()), limit), key=lambda item: item.id)
        write(out_dir / name, kept)
        documents[name] = len(kept)
    return HarvestSummary(out_dir, documents)
