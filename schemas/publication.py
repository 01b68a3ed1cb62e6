"""The files of a publication: ``datasets/<set>/MANIFEST.json``, ``pins/round-<n>.json`` and ``CHECKOUT.json`` of a checked-out copy.

All three are deterministic: no clock, no host, no path of a machine. A manifest says which bytes a set has and where its rows come from; a
pin binds a round to its manifests and to everything that may change a score.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

MANIFEST_FILE = "MANIFEST.json"
CHECKOUT_FILE = "CHECKOUT.json"


def pin_name(round_no: int | str) -> str:
    """Where the pin of a round lies, relative to the workspace."""
    return f"pins/round-{round_no}.json"


class PublishedFile(BaseModel):
    """A JSON file of a publication."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ShardFile(PublishedFile):
    """One Parquet file of a set.

    Attributes:
        path: relative to the set's folder.
        segment: group of files it belongs to.
        bucket: ordinal within the segment.
        rows: its rows.
        bytes: its size.
        sha256: of its bytes.
        checksum: logical checksum of its rows, ``rows-xor-sum`` over xxhash64, as in the lake; equal after any re-layout.
    """

    path: str
    segment: str
    bucket: int
    rows: int
    bytes: int
    sha256: str
    checksum: str


class Segment(PublishedFile):
    """A group of files that change together.

    Attributes:
        name: ``round=3``, ``ingest=ab12...``, or ``all``.
        buckets: number of hash buckets, chosen from bytes when the segment was first published and kept for life.
        fingerprint: over the lake slices its rows come from; equal fingerprints are equal bytes, so that its files are taken over.
        rows: its rows.
    """

    name: str
    buckets: int
    fingerprint: str
    rows: int


class SourceTable(PublishedFile):
    """A Delta table that was read: its id, the version, and the fingerprints of the slices."""

    table_id: str
    version: int
    slices: dict[str, str]


class Manifest(PublishedFile):
    """MANIFEST.json of one set.

    Attributes:
        columns: name, Arrow type and nullability of each column, in order.
        schema_hash: content_id over ``columns`` and ``key``.
        conf: settings that may change a row, by section.
        code_hash: over the source of the rooms.
        filters: versions of the rules that keep or drop rows.
        templates: name -> version of the prompt templates.
        verifiers: ``name@version`` of every verifier that graded a row.
        writer: versions of the libraries that decide the bytes.
        licences: licence -> rows; ``unknown`` where a document names none.
        sources: collection -> rows.
    """

    format: Literal[1] = 1
    dataset: str
    campaign: str
    round: int
    columns: tuple[tuple[str, str, bool], ...]
    key: tuple[str, ...]
    schema_hash: str
    rows: int
    bytes: int
    files: tuple[ShardFile, ...]
    segments: tuple[Segment, ...]
    tables: dict[str, SourceTable]
    conf: dict[str, Any]
    code_hash: str
    filters: dict[str, str]
    templates: dict[str, str]
    verifiers: tuple[str, ...]
    writer: dict[str, str]
    licences: dict[str, int]
    sources: dict[str, int]


class PinnedSet(PublishedFile):
    """A set as a pin names it."""

    manifest_sha256: str
    rows: int
    bytes: int
    files: int


class Pin(PublishedFile):
    """pins/round-<n>.json: the join key between git, Delta, DVC and MLflow.

    Attributes:
        attempt: 1, or higher where a round was published again after a restatement or a takedown; then the tag is ``round-<n>.<attempt>``.
        tag: tag in the workspace's git.
        policy_id: checkpoint that the round rolled out.
        eval_digest: digest of the fixed eval set with its sampling and verifiers: two rounds may be compared only where it is equal.
        collected_digest: likewise of the collected failures that the round rolled out.
        figures: headline metrics by their name in ``conf/metrics.toml``.
    """

    format: Literal[1] = 1
    campaign: str
    round: int
    attempt: int
    tag: str
    policy_id: str
    sets: dict[str, PinnedSet]
    tables: dict[str, SourceTable]
    eval_digest: str
    collected_digest: str
    conf: dict[str, Any]
    code_hash: str
    filters: dict[str, str]
    templates: dict[str, str]
    verifiers: tuple[str, ...]
    figures: dict[str, float]


class CheckedOutSet(PublishedFile):
    """One set of a copy: where it lies below the copy, and the manifest it was verified against."""

    path: str
    manifest_sha256: str


class Checkout(PublishedFile):
    """CHECKOUT.json: what a copy is, so that ``verify`` notices a changed manifest as well."""

    format: Literal[1] = 1
    checkpoint_id: str | None
    round: int
    tag: str
    commit: str
    sets: dict[str, CheckedOutSet]
