"""One set in its staging folder: files taken over from earlier publications, new ones from the export, and the manifest over both."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.publish.errors import MissingBytesError
from jobs.publish.export import WrittenSegment
from jobs.publish.objects import Snapshot
from jobs.publish.slices import ALL, SegmentPlan, SetPlan
from schemas.datasets.dataset import Dataset
from schemas.ids import canonical_json, content_id
from schemas.publication import MANIFEST_FILE, Manifest, Segment, ShardFile, SourceTable
from udfs.export.shards import Shape, ShardWriter

#: Segment of the one file of a set that has no rows.
EMPTY = "empty"
_KIND = re.compile(r"[a-z_]{1,20}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{12,64}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)

#: Writes segments of one set and says what it wrote.
Export = Callable[[SetPlan, Sequence[SegmentPlan], Mapping[str, int]], dict[str, WrittenSegment]]


@dataclass(frozen=True)
class Earlier:
    """A set as an earlier publication has it.

    Attributes:
        manifest: its manifest.
        objects: file -> object in the cache.
        touched: segments with a row of a document that was taken down since, or with bytes that are gone.
    """

    manifest: Manifest
    objects: Mapping[str, Path]
    touched: frozenset[str]

    @classmethod
    def of(cls, snapshot: Snapshot, dataset: str, tombstoned: Sequence[str], takedowns: str) -> Earlier | None:
        """None where the publication lacks the set, or its listing or manifest is gone."""
        if dataset not in snapshot.listings:
            return None
        try:
            manifest, objects = snapshot.manifest(dataset), snapshot.files(dataset)
        except MissingBytesError:
            return None
        gone = {file.segment for file in manifest.files if not objects.get(file.path, Path()).is_file()}
        if manifest.filters.get("takedowns") != takedowns:
            gone |= {file.segment for file in manifest.files if file.segment not in gone and _holds(objects[file.path], tombstoned)}
        return cls(manifest, objects, frozenset(gone))

    def takes_over(self, plan: SegmentPlan) -> Segment | None:
        """The segment, where its bytes are what the plan would give."""
        held = next((segment for segment in self.manifest.segments if segment.name == plan.name), None)
        fits = held is not None and held.fingerprint.partition(".")[0] == plan.fingerprint and held.name not in self.touched
        return held if fits else None


@dataclass
class StagedSet:
    """A set that is ready to be swapped in. ``new`` are the files that were written: path -> md5."""

    manifest: Manifest
    folder: Path
    new: dict[Path, str] = field(default_factory=dict)

    @property
    def manifest_sha256(self) -> str:
        """As in pin and CHECKOUT.json."""
        return hashlib.sha256(manifest_bytes(self.manifest)).hexdigest()


@dataclass(frozen=True)
class Facts:
    """What manifests say beside files: the same for every set of a publication."""

    campaign: str
    round_no: int
    conf: dict[str, Any]
    code_hash: str
    filters: dict[str, str]
    templates: dict[str, str]
    verifiers: tuple[str, ...]
    writer: dict[str, str]
    tables: dict[str, tuple[str, int]]


def manifest_bytes(manifest: Manifest) -> bytes:
    """MANIFEST.json: canonical JSON and a newline."""
    return (canonical_json(manifest.model_dump(mode="json")) + "\n").encode()


def assemble(plan: SetPlan, earlier: Sequence[Earlier], folder: Path, export: Export, facts: Facts, row_group_rows: int) -> StagedSet:
    """Fill ``folder`` with the files of a set.

    Args:
        plan: its segments.
        earlier: publications to take files over from, the nearest first.
        folder: created here.
        export: called once for all segments that cannot be taken over; not at all where there are none.
        facts: of the publication.
        row_group_rows: bound of row groups, for the file of an empty set.
    """
    folder.mkdir(parents=True)
    segments, files = [], []
    pending: list[SegmentPlan] = []
    for segment in plan.segments:
        source = next(((held, found) for held in earlier if (found := held.takes_over(segment)) is not None), None)
        if source is None:
            pending.append(segment)
            continue
        segments.append(source[1])
        files += [_taken(file, source[0].objects[file.path], folder) for file in source[0].manifest.files if file.segment == segment.name]
    known = {held.name: held.buckets for source in reversed(earlier) for held in source.manifest.segments if held.name != EMPTY}
    staged_new: dict[Path, str] = {}
    if pending:
        for name, written in export(plan, pending, known).items():
            segments.append(_segment(name, written, next(s for s in pending if s.name == name), earlier))
            for shard in written.shards:
                path = folder / file_name(name, shard.bucket)
                shard.path.rename(path)
                staged_new[path] = shard.md5
                files.append(ShardFile(path=path.name, segment=name, bucket=shard.bucket, rows=shard.rows, bytes=shard.bytes, sha256=shard.sha256, checksum=shard.checksum))  # fmt: skip
    # What a set once had stays listed: should it have rows again, their number of files is still that of its first day.
    segments += [
        Segment(name=n, buckets=b, fingerprint="", rows=0) for n, b in known.items() if b and n not in {s.name for s in plan.segments}
    ]
    if not files:
        file, md5 = _empty_file(plan.dataset, folder, row_group_rows)
        files, staged_new[folder / file.path] = [file], md5
        if plan.dataset.segment is not None:
            segments.append(Segment(name=EMPTY, buckets=1, fingerprint=content_id(facts.writer, _columns(plan.dataset)), rows=0))
    manifest = _manifest(plan, segments, files, folder, facts, _grown(plan.dataset, earlier))
    (folder / MANIFEST_FILE).write_bytes(manifest_bytes(manifest))
    return StagedSet(manifest, folder, staged_new)


def file_name(segment: str, bucket: int) -> str:
    """``round-00003-00000.parquet``: readable, and of safe characters whatever a segment is called."""
    kind, separator, value = segment.partition("=")
    if not separator:
        stem = kind if _KIND.fullmatch(kind) else f"other-{content_id(segment)[:12]}"
    elif not _KIND.fullmatch(kind):
        stem = f"other-{content_id(segment)[:12]}"
    elif _NUMBER.fullmatch(value):
        stem = f"{kind}-{int(value):05d}"
    else:
        stem = f"{kind}-{value[:12] if _HEX.fullmatch(value) else content_id(segment)[:12]}"
    return f"{stem}-{bucket:05d}.parquet"


def _segment(name: str, written: WrittenSegment, plan: SegmentPlan, earlier: Sequence[Earlier]) -> Segment:
    fingerprint = plan.fingerprint
    # Equal fingerprints are equal bytes: a takedown changes the bytes and none of the slices.
    before = [s.fingerprint for source in earlier if name in source.touched for s in source.manifest.segments if s.name == name]
    if any(held.partition(".")[0] == fingerprint for held in before):
        fingerprint = f"{fingerprint}.{content_id(before, [shard.sha256 for shard in written.shards])[:12]}"
    return Segment(name=name, buckets=written.buckets, fingerprint=fingerprint, rows=written.rows)


def _taken(file: ShardFile, source: Path, folder: Path) -> ShardFile:
    try:
        os.link(source, folder / file.path)
    except OSError:  # a cache on another file system, or too many links
        shutil.copyfile(source, folder / file.path)
    return file


def _empty_file(dataset: Dataset, folder: Path, row_group_rows: int) -> tuple[ShardFile, str]:
    name = ALL if dataset.segment is None else EMPTY
    with ShardWriter(Shape(dataset.schema, row_group_rows, str(folder))) as writer:
        told = writer.write([])
    (folder / told["attempt"]).rename(folder / file_name(name, 0))
    file = ShardFile(
        path=file_name(name, 0), segment=name, bucket=0, rows=0, bytes=told["bytes"], sha256=told["sha256"], checksum=told["checksum"]
    )
    return file, str(told["md5"])


def _manifest(
    plan: SetPlan, segments: Iterable[Segment], files: Iterable[ShardFile], folder: Path, facts: Facts, grown: Manifest | None
) -> Manifest:
    dataset, ordered = plan.dataset, tuple(sorted(files, key=lambda file: file.path))
    if len({file.path for file in ordered}) != len(ordered):
        raise ValueError(f"set {dataset.name}: two segments share a file name")
    licences, sources = _tally(folder / file.path for file in ordered)
    held = plan.slices
    templates = dict(grown.templates) if grown is not None else {}
    for name, version in facts.templates.items():
        templates[name] = ",".join(sorted({*templates.get(name, version).split(","), *version.split(",")}))
    return Manifest(
        dataset=dataset.name, campaign=facts.campaign, round=facts.round_no, columns=_columns(dataset), key=dataset.key,
        schema_hash=content_id(_columns(dataset), dataset.key), rows=sum(f.rows for f in ordered), bytes=sum(f.bytes for f in ordered),
        files=ordered, segments=tuple(sorted(segments, key=_natural)),
        tables={name: SourceTable(table_id=facts.tables[name][0], version=facts.tables[name][1], slices=slices) for name, slices in held.items()},
        conf=facts.conf, code_hash=facts.code_hash, filters=facts.filters, templates=dict(sorted(templates.items())),
        verifiers=tuple(sorted({*facts.verifiers, *(grown.verifiers if grown is not None else ())})), writer=facts.writer,
        licences=licences, sources=sources,
    )  # fmt: skip


def _grown(dataset: Dataset, earlier: Sequence[Earlier]) -> Manifest | None:
    """The earlier manifest of a set that keeps the rows of earlier rounds."""
    return earlier[-1].manifest if earlier and dataset.segment == "round" else None


def _natural(segment: Segment) -> tuple[str, int, str]:
    kind, _, value = segment.name.partition("=")
    return kind, int(value) if _NUMBER.fullmatch(value) else 0, value


def _columns(dataset: Dataset) -> tuple[tuple[str, str, bool], ...]:
    return tuple((f.name, str(f.type), f.nullable) for f in dataset.schema)


def _tally(paths: Iterable[Path]) -> tuple[dict[str, int], dict[str, int]]:
    """Licence -> rows and source -> rows; two dictionary-encoded columns, a few milliseconds a file."""
    counts: dict[str, Counter[str]] = {"licence": Counter(), "source": Counter()}
    for path in paths:
        table = pq.ParquetFile(path).read(columns=list(counts))
        for name, counter in counts.items():
            for entry in pc.value_counts(table.column(name)).to_pylist():
                counter["unknown" if entry["values"] is None else entry["values"]] += entry["counts"]
    return dict(sorted(counts["licence"].items())), dict(sorted(counts["source"].items()))


def _holds(path: Path, tombstoned: Sequence[str]) -> bool:
    """Whether a file has a row of one of these documents."""
    import pyarrow as pa

    column = pq.ParquetFile(path).read(columns=["doc_id"]).column("doc_id")
    return bool(pc.any(pc.is_in(column, value_set=pa.array(tombstoned, pa.string()))).as_py())
