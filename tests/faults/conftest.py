"""Sandboxes of the tiers that a test is about."""

from __future__ import annotations

import pytest

from tests.sandboxes import of_tier
from udfs.sandbox.sandbox import Sandbox


@pytest.fixture(params=["A", "B"])
def strong(request: pytest.FixtureRequest) -> Sandbox:
    """A tier with namespaces."""
    return of_tier(request.param)


@pytest.fixture(params=["A", "B", "C"])
def confined(request: pytest.FixtureRequest) -> Sandbox:
    """A tier that keeps files and sockets from the program."""
    return of_tier(request.param)


@pytest.fixture(params=["A", "B", "C", "D"])
def any_tier(request: pytest.FixtureRequest) -> Sandbox:
    """Every tier."""
    return of_tier(request.param)
