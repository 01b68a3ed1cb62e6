"""What can go wrong between a job and a table."""

from __future__ import annotations

from schemas.errors import VerilakeError


class LakeVersionError(VerilakeError):
    """The lake was made by another verilake than this one."""

    exit_code = 3

    @classmethod
    def from_older(cls, root: str, found: int, known: int) -> LakeVersionError:
        """Jobs need the newest version."""
        return cls(
            f"{root}: this lake has schema version {found}, jobs of this verilake need version {known}. "
            "Bring it forward with: verilake migrate. Nothing was changed."
        )

    @classmethod
    def from_versions(cls, root: str, found: int, known: int) -> LakeVersionError:
        """Both versions are named."""
        return cls(
            f"{root}: this lake has schema version {found}, this verilake knows version {known}. Use the newer verilake; nothing was changed."
        )


class MissingInputError(VerilakeError):
    """A job was asked to run before the one that feeds it."""

    exit_code = 3

    @classmethod
    def from_slice(cls, table: str, slice_value: str, verb: str) -> MissingInputError:
        """The table holds no such slice."""
        return cls(f"{table} holds nothing for {slice_value}. Run first: {verb}")


class SchemaMismatchError(VerilakeError):
    """A job produced other columns than the table's schema module says; a fault of ours, found before anything is written."""

    @classmethod
    def from_differences(cls, table: str, differences: list[str]) -> SchemaMismatchError:
        """All differences at once."""
        return cls(f"{table}: the frame does not fit the table: " + "; ".join(differences))


class SkippedWriteError(VerilakeError):
    """Delta silently skipped a write as already done, but the earlier commit is not the one that was meant."""

    @classmethod
    def from_app_id(cls, table: str, app_id: str) -> SkippedWriteError:
        """The transaction id was recorded by a commit that carries other metadata."""
        return cls(
            f"{table}: Delta skipped the write as transaction {app_id}, but no commit with its fingerprint is in the log. The table was not changed; was its log edited by another tool?"
        )


class VerifyError(VerilakeError):
    """After a commit the table does not hold what was meant to be written."""

    @classmethod
    def from_figures(cls, table: str, slice_value: str, version: int, meant: str, found: str) -> VerifyError:
        """Row counts or checksums differ."""
        return cls(
            f"{table} version {version}, {slice_value}: meant to hold {meant}, holds {found}. Do not use this slice; run the job again and report this."
        )


class WriteOnceError(VerilakeError):
    """A slice of a write-once table exists with another fingerprint."""

    exit_code = 3

    @classmethod
    def from_slice(cls, table: str, slice_value: str, found: str, wanted: str) -> WriteOnceError:
        """Names both fingerprints and the way to restate."""
        return cls(
            f"{table}, {slice_value} is write-once and was written as {found[:12]}; inputs or settings have changed since (now {wanted[:12]}). "
            "Start a new round, or restate this one on purpose with --restate."
        )


class WriteConflictError(VerilakeError):
    """Another writer won again and again."""

    @classmethod
    def from_attempts(cls, table: str, attempts: int, last: str) -> WriteConflictError:
        """Retries are used up."""
        return cls(
            f"{table}: {attempts} attempts met concurrent commits of another writer, the last one: {last}. Stop the other writer or run again later."
        )

    @classmethod
    def from_fatal(cls, table: str, last: str) -> WriteConflictError:
        """The table's protocol or metadata changed under the write; trying again blindly would be wrong."""
        return cls(
            f"{table}: its schema, properties or protocol were changed by another writer during the write: {last}. Nothing was written; look at the table's history."
        )
