"""What can go wrong between a job and its workers."""

from __future__ import annotations

from schemas.errors import VerilakeError


class HandoffError(VerilakeError):
    """A hand-off run that could not be drained; what is finished stays, and running the job again goes on from there."""

    @classmethod
    def from_stopped(cls, run_dir: str, left: int) -> HandoffError:
        """Workers were asked to stop."""
        return cls(
            f"{run_dir}: workers were stopped with {left} shards left. Remove control/stop if it is there and run the job again; it goes on."
        )

    @classmethod
    def from_workers(cls, run_dir: str, code: int, log: str, tail: str) -> HandoffError:
        """Workers ended with an error."""
        return cls(f"{run_dir}: workers ended with exit code {code}. Their log is {log}; its last line: {tail}")

    @classmethod
    def from_dead(cls, run_dir: str, shards: list[str], reason: str) -> HandoffError:
        """Shards that could not even be committed as failed."""
        return cls(
            f"{run_dir}: {len(shards)} shards cannot be worked ({', '.join(shards[:5])}): {reason}. "
            "When the cause is removed, delete the run's directory and run the job again."
        )

    @classmethod
    def from_stage(cls, run_dir: str, detail: str) -> HandoffError:
        """Spark ended the stage of workers."""
        return cls(f"{run_dir}: Spark gave the workers' stage up: {detail}. What is committed stays; run the job again, it goes on.")

    @classmethod
    def from_interpreter(cls, python: str, detail: str) -> HandoffError:
        """The workers' interpreter cannot be started."""
        return cls(f"{python}: cannot be started: {detail}. Set work.python to the interpreter that carries the workers' engine.")

    @classmethod
    def from_refused(cls, run_dir: str, shard: str, reason: str) -> HandoffError:
        """A commit that is refused however often it is made."""
        return cls(f"{run_dir}: commits of shard {shard} are refused again and again: {reason}. See quarantine/ there.")

    @classmethod
    def from_fingerprint(cls, run_dir: str, planned: str, wanted: str) -> HandoffError:
        """Another plan lies where this one belongs."""
        return cls(
            f"{run_dir}: planned with fingerprint {planned}, this job has {wanted}. Delete the directory if nothing reads it any more."
        )


class UnknownRunError(VerilakeError):
    """A run that this workspace does not hold."""

    exit_code = 3

    @classmethod
    def from_prefix(cls, prefix: str, found: int) -> UnknownRunError:
        """None, or several, begin so."""
        return cls(f"--run {prefix}: {found or 'no'} hand-off runs begin so. `verilake handoff status` lists them.")
