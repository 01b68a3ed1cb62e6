"""Why a file is not graded, or its verdicts are not written."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.errors import PlainFileError, VerilakeError


class FileRefusedError(PlainFileError):
    """The file cannot be graded (probed) as it is; nothing was written."""

    @classmethod
    def from_missing(cls, path: str, missing: str, there: Iterable[str], hint: str) -> FileRefusedError:
        """No record has a field without which none can be graded (probed); ``hint`` says more."""
        shown = ", ".join(map(repr, sorted(there)[:12])) or "none"
        return cls(f"{path}: no record has {missing}; there are: {shown}. {hint}")


class OutputRefusedError(VerilakeError):
    """Rows cannot be written where they should."""

    exit_code = 2

    @classmethod
    def from_existing(cls, path: str) -> OutputRefusedError:
        """Never written over: it may hold the only copy of something."""
        return cls(f"{path} exists already. Name a file that does not, or remove this one.")

    @classmethod
    def from_extension(cls, path: str) -> OutputRefusedError:
        """The name does not say in which format."""
        return cls(f"{path}: its name must end in .jsonl, .jsonl.gz, .jsonl.zst or .parquet (also .ndjson, .json, .pq).")

    @classmethod
    def from_second(cls, path: str) -> OutputRefusedError:
        """Another process writes it right now."""
        return cls(f"{path} is being written by another process. Wait for it, or name another file.")
