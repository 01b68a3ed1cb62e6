"""MLflow's own server over a workspace's store, on the loopback interface alone."""

from __future__ import annotations

import os
import socket
import sys
from typing import NoReturn

from jobs.tracking.client import translated
from jobs.tracking.destination import DATABASE, Destination
from jobs.tracking.relocate import relocate
from jobs.workspace import Workspace
from schemas.errors import VerilakeError


class CannotServeError(VerilakeError):
    """There is nothing to serve, or no place to serve it."""

    @classmethod
    def from_empty(cls, workspace: Workspace) -> CannotServeError:
        """No round was ever logged here."""
        return cls(
            f"{workspace.root}: no round is logged yet, there is nothing to show. Publish one, then: verilake track -w {workspace.root}"
        )

    @classmethod
    def from_port(cls, port: int, why: str) -> CannotServeError:
        """The port is taken."""
        return cls(f"127.0.0.1:{port} cannot be used ({why}): choose another one with --port")


def serve(workspace: Workspace, where: Destination, port: int) -> NoReturn:
    """Become the server; an interrupt ends it.

    Raises:
        CannotServeError: nothing is logged, or the port is taken.
        TrackingError: the store is damaged.
    """
    if where.key == "" and not (workspace.root / DATABASE).is_file():
        raise CannotServeError.from_empty(workspace)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CannotServeError.from_port(port, error.strerror or str(error)) from None
    with translated(where):
        relocate(workspace, where)
    # The store by environment, not by argument: a database's URI may hold a password, and arguments are seen by everyone on the machine.
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")},
        "MLFLOW_BACKEND_STORE_URI": where.uri, "MLFLOW_DEFAULT_ARTIFACT_ROOT": where.artifacts or "", "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_REGISTRY_STORE_URI": where.uri, "MLFLOW_UVICORN_OPTS": "--log-level warning", "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    sys.stdout.flush()
    os.chdir(workspace.root)
    os.execve(sys.executable, command, environment)  # noqa: S606  # a fixed list, no shell
