"""The layout of one hand-off run: where its files lie and what they say. Both sides read it; neither writes through it but by ``Store``."""

from __future__ import annotations

import os
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from schemas.errors import VerilakeError
from schemas.handoff import SHARD_SCHEMAS, Beat, Claim, Commit, DeadLetter, FileModel, Quarantined, RunPlan
from udfs.store.file_store import FileStore
from udfs.store.store import local_files, open_store

PLAN = "plan/plan.json"
POLICY = "plan/policy"
PAUSE, STOP, MIN_POLICY_VERSION = "control/pause", "control/stop", "control/min_policy_version"

Model = TypeVar("Model", bound=FileModel)


class RunError(VerilakeError):
    """A directory that is no planned run, or a file of it that cannot be what the layout says."""

    exit_code = 3

    @classmethod
    def from_unplanned(cls, path: str) -> RunError:
        """There is no plan."""
        return cls(f"{path}: no {PLAN}. This is not a planned hand-off run; name the directory `run=<run_id>` that a job laid.")

    @classmethod
    def from_file(cls, path: str, detail: str) -> RunError:
        """A file does not parse."""
        return cls(f"{path}: not a file of this layout: {detail}")


def to_bytes(model: FileModel) -> bytes:
    """The bytes of a JSON file of the hand-off."""
    return model.model_dump_json(indent=1).encode("utf-8")


class HandoffRun:
    """One run directory, read through typed files."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.store = open_store(root)

    @property
    def files(self) -> FileStore:
        """The store as files; the jobs' side of the hand-off needs paths.

        Raises:
            StoreError: the run lies on an object store.
        """
        return local_files(self.store)

    def policy_folder(self, name: str = POLICY) -> Path:
        """``plan/policy``, or other weights of the run, as a local directory: in place on a file system, fetched from an object store."""
        if isinstance(self.store, FileStore):
            return self.store.path(name)
        return self._fetched(name, Path(tempfile.mkdtemp(prefix="verilake-policy-")))

    def _fetched(self, folder: str, target: Path) -> Path:
        files = {entry.name for entry in self.store.entries(folder)}
        for name in self.store.list(folder):
            if name in files:
                (target / name).write_bytes(self.store.read(f"{folder}/{name}") or b"")
            else:
                (target / name).mkdir()
                self._fetched(f"{folder}/{name}", target / name)
        return target

    @cached_property
    def plan(self) -> RunPlan:
        """The immutable plan.

        Raises:
            RunError: the directory holds none, or one of another layout.
        """
        plan = self._load(PLAN, RunPlan)
        if plan is None:
            raise RunError.from_unplanned(self.store.uri)
        return plan

    def shard_items(self, sid: str) -> pa.Table:
        """The items of a shard.

        Raises:
            RunError: the file is missing, cut, or of another schema.
        """
        path, data = f"{self.store.uri}/{shard_name(sid)}", self.store.read(shard_name(sid))
        if data is None:
            raise RunError.from_file(path, "missing")
        try:
            table = pq.read_table(pa.BufferReader(data))
        except (OSError, pa.ArrowInvalid) as error:
            raise RunError.from_file(path, str(error)) from error
        expected = SHARD_SCHEMAS[self.plan.program]
        if not same_columns(table.schema, expected):
            raise RunError.from_file(path, f"columns {table.schema.names}, expected {expected.names}")
        return table.cast(expected)

    def attempts(self, sid: str) -> list[int]:
        """Attempts claimed so far, in order."""
        return sorted(int(name.removesuffix(".json")) for name in self.store.list(f"claims/{sid}"))

    def claim(self, sid: str, attempt: int) -> Claim | None:
        """Who claimed it."""
        return self._load(claim_name(sid, attempt), Claim)

    def beat(self, sid: str, attempt: int) -> Beat | None:
        """The last sign of life; None where there is none, or a power cut left it without its bytes (it is not synced)."""
        try:
            return self._load(beat_name(sid, attempt), Beat)
        except RunError:
            return None

    def commit(self, sid: str) -> Commit | None:
        """The commit that won."""
        return self._load(commit_name(sid), Commit)

    def dead_letter(self, sid: str) -> DeadLetter | None:
        """Why nobody tries any more."""
        return self._load(dead_name(sid), DeadLetter)

    def min_policy_version(self) -> int | None:
        """The least policy version of which groups are still begun, None where nobody asks for one.

        Raises:
            ValueError: the control file holds no ordinal.
        """
        data = self.store.read(MIN_POLICY_VERSION)
        if data is None:
            return None
        text = data.decode("utf-8", "replace").strip()
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"{self.store.uri}/{MIN_POLICY_VERSION}: {text[:50]!r} is no ordinal")
        return int(text)

    def committed(self) -> set[str]:
        """Shards that have a commit."""
        return {name.removesuffix(".json") for name in self.store.list("commit")}

    def dead(self) -> set[str]:
        """Shards that are dead letters (and have no commit: a late one wins over the letter)."""
        return {name.removesuffix(".json") for name in self.store.list("dead")} - self.committed()

    def quarantined(self, sid: str) -> set[int]:
        """Attempts whose commit the ingester refused."""
        names = (name.removesuffix(".json").rpartition(".") for name in self.store.list("quarantine"))
        return {int(attempt) for shard, _, attempt in names if shard == sid}

    def quarantine(self, commit: Commit, reason: str) -> None:
        """Refuse a commit: keep it with its reason and free the name, so that a further attempt can commit.

        The caller holds the run's lock: the name may only be freed of the very commit that was judged.
        """
        name = quarantine_name(commit.shard, commit.attempt)
        self.store.create_if_absent(name, to_bytes(Quarantined(commit=commit, reason=reason)))
        current = self.commit(commit.shard)
        if current is not None and current.attempt == commit.attempt:
            self.store.remove(commit_name(commit.shard))

    def _load(self, name: str, model: type[Model]) -> Model | None:
        data = self.store.read(name)
        if data is None:
            return None
        try:
            return model.model_validate_json(data)
        except ValidationError as error:
            raise RunError.from_file(f"{self.store.uri}/{name}", str(error)) from error


def same_columns(schema: pa.Schema, expected: pa.Schema) -> bool:
    """Names and types in order; metadata, nullability and the inner names of lists aside, which writers spell differently."""
    return schema.names == expected.names and all(_same_type(a.type, b.type) for a, b in zip(schema, expected, strict=True))


def _same_type(actual: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_list(expected):
        return bool(pa.types.is_list(actual) and actual.value_type == expected.value_type)
    return bool(actual == expected)


def shard_name(sid: str) -> str:
    """Where the items of a shard lie."""
    return f"shards/{sid}.parquet"


def claim_name(sid: str, attempt: int) -> str:
    """The lease of an attempt."""
    return f"claims/{sid}/{attempt}.json"


def beat_name(sid: str, attempt: int) -> str:
    """The sign of life of an attempt."""
    return f"beats/{sid}/{attempt}"


def out_folder(sid: str, attempt: int) -> str:
    """The parts of an attempt."""
    return f"out/{sid}/{attempt}"


def superseded_folder(sid: str, attempt: int) -> str:
    """The parts of an attempt that came second."""
    return f"superseded/{sid}/{attempt}"


def commit_name(sid: str) -> str:
    """The commit of a shard."""
    return f"commit/{sid}.json"


def dead_name(sid: str) -> str:
    """The dead letter of a shard."""
    return f"dead/{sid}.json"


def quarantine_name(sid: str, attempt: int) -> str:
    """A refused commit."""
    return f"quarantine/{sid}.{attempt}.json"
