"""An MLflow client that gives up quickly, says nothing on its own and leaves no trace in this process or in the working directory."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jobs.tracking.destination import Destination
from schemas.errors import VerilakeError


class TrackingError(VerilakeError):
    """The store could not be reached or refused; what was to be logged stays pending."""

    @classmethod
    def from_cause(cls, where: Destination, cause: BaseException) -> TrackingError:
        """First line of what MLflow said, without credentials."""
        said = where.clean(str(cause)).strip().splitlines()
        line = said[0][:300] if said else ""
        return cls(f"MLflow at {where.shown}: {type(cause).__name__}{': ' if line else ''}{line}")

    @classmethod
    def from_deleted(cls, where: Destination, experiment: str) -> TrackingError:
        """Someone deleted the experiment; it is not ours to bring back."""
        return cls(
            f"MLflow at {where.shown}: experiment {experiment!r} was deleted. Restore it there, or name another one in track.experiment."
        )


@contextmanager
def connected(where: Destination, timeout: int) -> Iterator[Any]:
    """A ``MlflowClient`` of the store; use it within :func:`translated`.

    Args:
        where: the store.
        timeout: seconds that one request may take.

    Raises:
        TrackingError: the store's database does not answer.
    """
    with _environment(_variables(where, timeout)), _quiet():
        with translated(where):
            if where.address is not None:
                socket.create_connection(where.address, timeout=timeout).close()
            from mlflow import MlflowClient

            # MLflow sets its own level while it is imported.
            logging.getLogger("mlflow").setLevel(logging.CRITICAL)
            client = MlflowClient(tracking_uri=where.uri, registry_uri=where.uri)
        yield client


@contextmanager
def translated(where: Destination) -> Iterator[None]:
    """Whatever MLflow, its database or its artifact store raises becomes a :class:`TrackingError` without credentials."""
    try:
        yield
    except VerilakeError:
        raise
    except Exception as error:  # noqa: BLE001  # each store and artifact plugin raises errors of its own library
        raise TrackingError.from_cause(where, error) from None


def _variables(where: Destination, timeout: int) -> dict[str, str | None]:
    return {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_TRACKING_URI": where.uri,
        **(
            {"MLFLOW_TRACKING_USERNAME": where.user or "", "MLFLOW_TRACKING_PASSWORD": where.password or ""}
            if where.user is not None
            else {}
        ),
        # Else MLflow notes a folder of the working directory for its unused default experiment.
        **({"_MLFLOW_SERVER_ARTIFACT_ROOT": where.artifacts} if where.artifacts is not None else {}),
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(timeout),
        # A repeated request could create a second run; what fails is tried again as a whole, by the next `verilake track`.
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
        "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
        # It would print the address of each run on stdout, where `--json` puts its object.
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_LOGGING_LEVEL": "CRITICAL",
        # Of a run that surrounds this process: ours are its own.
        "MLFLOW_RUN_ID": None,
        "MLFLOW_EXPERIMENT_ID": None,
        "MLFLOW_EXPERIMENT_NAME": None,
    }


@contextmanager
def _environment(wanted: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables (None: unset) for a while; MLflow is configured by nothing else."""
    before = {name: os.environ.get(name) for name in wanted}
    _set(wanted)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def _quiet() -> Iterator[None]:
    """No warning or log line of MLflow: failures come as errors, and its users here cannot change how it calls its own libraries."""
    names = ("mlflow", "alembic", "urllib3.connectionpool")
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
