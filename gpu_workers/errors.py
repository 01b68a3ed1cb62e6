"""Exit codes of a worker, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.errors import VerilakeError

EXIT_DRAINED = 0
EXIT_REFUSED = 3
EXIT_STOPPED = 4
EXIT_DEAD_LETTERS = 5
#: The engine is dead or hangs: the process has ended to be started anew.
EXIT_ENGINE_DEAD = 6


class RefusedRunError(VerilakeError):
    """A run that this worker cannot serve; another build or another environment may."""

    exit_code = EXIT_REFUSED

    @classmethod
    def from_engine(cls, program: str, engine: str, known: Iterable[str]) -> RefusedRunError:
        """No such engine here."""
        return cls(f"program {program}, engine {engine}: this worker has {', '.join(known)}. Start a worker that carries the engine.")

    @classmethod
    def from_version(cls, engine: str, wanted: str, have: str) -> RefusedRunError:
        """The plan was made for another version of the engine."""
        return cls(
            f"engine {engine}: the run was planned for version {wanted}, this worker has {have}. Plan again, or start workers of that version."
        )

    @classmethod
    def from_options(cls, engine: str, unknown: Iterable[str]) -> RefusedRunError:
        """Engine options that mean nothing here."""
        return cls(f"engine {engine} has no option {', '.join(unknown)}.")

    @classmethod
    def from_policy(cls, path: str, detail: str) -> RefusedRunError:
        """The policy files do not fit the plan."""
        return cls(f"{path}: {detail}")
