"""Why files are refused."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.errors import PlainFileError, VerilakeError


class FilesRefusedError(PlainFileError):
    """The input cannot be de-duplicated as it is; nothing was written."""

    @classmethod
    def from_missing_field(cls, what: str, name: str, flag: str, there: Iterable[str]) -> FilesRefusedError:
        """No record has the field."""
        return cls(f"no record has the {what} field {name!r}; there are: {', '.join(map(repr, sorted(there)[:12]))}. Name it with {flag}.")

    @classmethod
    def from_field_type(cls, what: str, name: str, kind: object, needed: str) -> FilesRefusedError:
        """The field is of no use as what it is named for."""
        return cls(f"the {what} field {name!r} holds {kind}; needed: {needed}.")

    @classmethod
    def from_missing_id(cls, name: str, rows: int, first: int) -> FilesRefusedError:
        """Some rows have an id, others none."""
        return cls(
            f"{rows} records have no {name!r} (the first is row {first}, from 0): give every record one, or name a field with --id-field."
        )

    @classmethod
    def from_repeated_id(cls, name: str, ids: int, first: str) -> FilesRefusedError:
        """An id that names more than one row cannot say which of them goes."""
        return cls(f"{ids} values of {name!r} name more than one record, {first[:80]!r} among them: ids must be unique over all files.")


class OutputExistsError(VerilakeError):
    """The folder to write is there already."""

    exit_code = 2

    @classmethod
    def from_path(cls, path: str) -> OutputExistsError:
        """Never written over: it may hold the only copy of what was kept."""
        return cls(f"{path} exists already. Name a folder that does not, or remove this one.")
