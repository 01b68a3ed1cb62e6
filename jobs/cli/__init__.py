"""The ``verilake`` command."""

from __future__ import annotations

from jobs.cli.main import main

__all__ = ["main"]
