"""What can go wrong between the lake and a published set."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.errors import VerilakeError


class HistoryError(VerilakeError):
    """git or DVC is missing or refused a command."""

    @classmethod
    def from_missing_git(cls) -> HistoryError:
        """There is no git command."""
        return cls(
            "git is needed to publish and was not found: install it (Debian/Ubuntu: apt-get install git) and run the same command again."
        )

    @classmethod
    def from_command(cls, what: str, code: int, said: str) -> HistoryError:
        """A command ended with an error."""
        lines = [line for line in said.splitlines() if line.strip()] or ["(it said nothing)"]
        lines = [line for line in lines if line.startswith(("ERROR", "fatal", "error"))] or lines
        return cls(f"{what} failed with exit code {code}: " + "\n  ".join(lines[-6:]))

    @classmethod
    def from_detached(cls, root: str) -> HistoryError:
        """HEAD is no branch: a commit would be lost from sight."""
        return cls(f"{root}: git is at a detached commit, where a publication would be lost from sight. Go back first: git switch main")


class NotPublishedError(VerilakeError):
    """A round that has no publication, or not yet."""

    exit_code = 3

    @classmethod
    def from_round(cls, round_no: int) -> NotPublishedError:
        """No tag of the round."""
        return cls(f"round {round_no} is not published. Run first: verilake publish --round {round_no}")

    @classmethod
    def from_gap(cls, round_no: int, missing: int) -> NotPublishedError:
        """An earlier round lacks its publication."""
        return cls(
            f"round {round_no} cannot be published before round {missing}: sets grow round by round. Run first: verilake publish --round {missing}"
        )

    @classmethod
    def from_open_round(cls, round_no: int) -> NotPublishedError:
        """Feedback has not closed the round."""
        return cls(f"round {round_no} is not closed: its sets are not final. Run first: verilake feedback --round {round_no}")


class UnknownPublicationError(VerilakeError):
    """Neither a tag nor a bound checkpoint."""

    exit_code = 3

    @classmethod
    def from_what(cls, what: str, tags: Iterable[str]) -> UnknownPublicationError:
        """Names the tags that there are."""
        known = ", ".join(tags) or "none yet"
        return cls(
            f"{what}: neither a tag of a publication ({known}) nor a bound checkpoint. Bind one with: verilake bind CHECKPOINT --round N"
        )

    @classmethod
    def from_sets(cls, what: str, missing: Iterable[str], known: Iterable[str]) -> UnknownPublicationError:
        """Sets that the publication does not have."""
        return cls(f"{what} has no set {', '.join(missing)}; it has: {', '.join(known)}")

    @classmethod
    def from_binding(cls, what: str, dataset: str, bound: str, found: str) -> UnknownPublicationError:
        """The tag now names other bytes than were bound."""
        return cls(
            f"{what}: set {dataset} was bound as manifest {bound[:12]}, but its tag now holds {found[:12]}. The history was rewritten; nothing was copied."
        )


class TargetError(VerilakeError):
    """The place for a copy cannot be used."""

    exit_code = 2

    @classmethod
    def from_taken(cls, target: str) -> TargetError:
        """It exists and is not empty."""
        return cls(f"{target} exists and is not an empty directory: name a new one, so that nothing of yours is mixed with the copy.")

    @classmethod
    def from_link(cls, target: str, error: str) -> TargetError:
        """Hard links cannot be made there."""
        return cls(f"{target}: hard links to the cache cannot be made there ({error}): leave out --link to copy.")


class MissingBytesError(VerilakeError):
    """Bytes of a publication are not in the cache and cannot be fetched."""

    @classmethod
    def from_objects(cls, tag: str, count: int, first: str, why: str) -> MissingBytesError:
        """How many, the first one, and why they did not come."""
        return cls(
            f"{tag}: {count} of its files are not in the cache (the first: {first}), {why}. They were purged by a takedown, or never fetched to this machine."
        )

    @classmethod
    def from_damage(cls, tag: str, problems: Iterable[str]) -> MissingBytesError:
        """The cache holds other bytes than were published."""
        return cls(f"{tag}: the copy is not what was published; it was removed again:\n" + "\n".join(f"  {line}" for line in problems))


class ExportError(VerilakeError):
    """The export does not hold what it was meant to hold."""

    @classmethod
    def from_rows(cls, dataset: str, meant: int, found: int) -> ExportError:
        """Row counts differ."""
        return cls(f"set {dataset}: {meant:,} rows were to be written, {found:,} were. Nothing was published; run again and report this.")

    @classmethod
    def from_source(cls, dataset: str, rows: int) -> ExportError:
        """Rows whose task, prompt or document is gone."""
        return cls(
            f"set {dataset}: {rows:,} rows name a task, prompt or document that the lake does not hold any more. Nothing was published; "
            "run the stations of the round again (verilake status says which), or restate the round."
        )

    @classmethod
    def from_space(cls, folder: str, needed: int, free: int) -> ExportError:
        """The disk is too small."""
        return cls(
            f"{folder}: about {needed / 2**20:,.0f} MiB are needed to publish and {free / 2**20:,.0f} MiB are free. Nothing was published; free some space and run again."
        )

    @classmethod
    def from_full_disk(cls, folder: str) -> ExportError:
        """The disk became full on the way."""
        return cls(
            f"{folder}: the disk is full (No space left on device). Nothing was published, the sets and their history are as before: "
            "free some space and run the same command again."
        )
