"""The one base of every error that verilake raises on purpose, and the exit code it ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pydantic import ValidationError


def wrong_fields(error: ValidationError, whole: str) -> str:
    """Every field that a model refused, with why.

    Args:
        error: of pydantic.
        whole: what to call the value where no field of it is at fault.
    """
    return "; ".join(f"{'.'.join(map(str, part['loc'])) or whole}: {part['msg']}" for part in error.errors())


class VerilakeError(Exception):
    """Base of all deliberate errors; the message says what, where and what to do.

    ``exit_code`` is what the command line ends with: 1 anything else, 2 wrong use or configuration,
    3 input refused (nothing written), 4 budget reached, 5 an alert blocks the round.
    """

    exit_code: int = 1


class InputRefusedError(VerilakeError):
    """The input as a whole cannot be taken (missing, unreadable, no record at all); nothing was written."""

    exit_code = 3

    @classmethod
    def from_missing(cls, path: str) -> InputRefusedError:
        """The path does not exist or matches nothing."""
        return cls(f"{path}: no such file or directory. Check the path; globs are expanded by the shell, not by verilake.")


class PlainFileError(VerilakeError):
    """A plain file that a tool cannot take as it is; nothing was written."""

    exit_code = 3

    @classmethod
    def from_unusable(cls, path: str, reason: str) -> Self:
        """It is neither JSONL nor Parquet, or breaks off."""
        return cls(f"{path}: {reason}. Give JSONL (plain, .gz, .zst) or Parquet.")

    @classmethod
    def from_nothing(cls, path: str) -> Self:
        """Not one record."""
        return cls(f"{path}: no record in it.")


class NotAWorkspaceError(VerilakeError):
    """A directory was named as the workspace but holds none."""

    exit_code = 2

    @classmethod
    def from_path(cls, path: str) -> NotAWorkspaceError:
        """The directory lacks ``conf/verilake.toml``."""
        return cls(f"{path} is not a verilake workspace (no conf/verilake.toml). Lay one with: verilake init {path}")


class UnknownIdError(VerilakeError):
    """An id that no table of this lake holds."""

    exit_code = 3

    @classmethod
    def from_id(cls, ident: str) -> UnknownIdError:
        """No table knows the id."""
        return cls(f"{ident}: no table of this lake holds this id. `verilake sql` lists tables and their keys.")
