"""Tests of the vLLM engine: they run in its own environment alone (`make test-vllm`), as a pytest run apart from the suite."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("vllm") is None:
    collect_ignore_glob = ["*.py"]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Two checkpoints of one architecture: (folder, folder)."""
    from tests.vllm.models import lay_tiny

    folder = tmp_path_factory.mktemp("policies")
    return lay_tiny(folder / "0", seed=0), lay_tiny(folder / "1", seed=1)
