from __future__ import annotations

import textwrap

import pytest

from udfs.harvest.stdlib import module_files, module_records

SOURCE = '''
"""A module of pumps."""
from collections import abc
from os import path as p
import io

LIMIT = 42
NAME = "pump"
TWICE = 1
TWICE = 2
_hidden = 3
raise RuntimeError("reading must not run this")

class PumpError(ValueError):
    """Raised by pumps."""

class Pump(abc.Sized, io.RawIOBase):
    """A pump."""
    speed = 7

    def __init__(self, size, *, mode="slow", depth=None):
        pass

    def run(self, seconds=1.5, *args: int, quiet=True, **kw) -> bool:
        """Run for a while."""

    @property
    def state(self):
        """Whether it runs."""

    @staticmethod
    def unit(factor=2):
        """Unit of work."""

    def bare(self):
        pass

class Fast(Pump):
    pass

if p:
    def build(a=1):
        """First."""
else:
    def build(a=2):
        """Second."""

# Comment that explains
# the next function.
def noted():
    pass

def _private():
    """Not public."""
'''


@pytest.fixture
def pages(tmp_path):
    path = tmp_path / "pumps.py"
    path.write_text(textwrap.dedent(SOURCE))
    return {record.id: record for record in module_records("pumps", path)}


def test_pages_of_the_public_objects_alone(pages):
    assert sorted(pages) == [
        "pumps", "pumps.Fast", "pumps.Pump", "pumps.Pump.run", "pumps.Pump.state", "pumps.Pump.unit", "pumps.PumpError",
        "pumps.build", "pumps.build#2", "pumps.noted",
    ]  # fmt: skip
    assert pages["pumps.build#2"].title == "pumps.build"


def test_class_page_has_signature_of_init_bases_and_members(pages):
    text = pages["pumps.Pump"].text
    assert "\nclass pumps.Pump(size, *, mode='slow', depth=None)\nBases: collections.abc.Sized, io.RawIOBase\n" in text
    assert "\n  size\n  mode (default: 'slow')\n  depth (default: None)\n" in text
    assert "\nMethods: bare(), run(), unit()\nProperties: state\nAttributes:\n  pumps.Pump.speed = 7\n" in text


@pytest.mark.parametrize(
    ("ident", "line"),
    [
        ("pumps.Pump.run", "pumps.Pump.run(seconds=1.5, *args: int, quiet=True, **kw) -> bool"),
        ("pumps.Pump.unit", "pumps.Pump.unit(factor=2)"),
        ("pumps.Fast", "Bases: pumps.Pump"),
        ("pumps.PumpError", "Bases: ValueError"),
        ("pumps.Pump.state", "Property of class pumps.Pump."),
        ("pumps.noted", "Comment that explains"),
        ("pumps", "  pumps.LIMIT = 42"),
        ("pumps", "  pumps.NAME = 'pump'"),
    ],
)
def test_lines_of_pages(pages, ident, line):
    assert line in pages[ident].text.splitlines()


def test_a_name_assigned_twice_is_no_constant(pages):
    assert "TWICE" not in pages["pumps"].text


def test_tests_private_modules_and_installed_packages_are_skipped(tmp_path):
    for name in ("a/__init__.py", "a/b.py", "a/_c.py", "a/test/d.py", "site-packages/e.py", "f-g.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    assert [name for name, _ in module_files(tmp_path)] == ["a", "a.b"]


def test_a_file_of_another_python_gives_no_pages(tmp_path):
    path = tmp_path / "old.py"
    path.write_text("print 'hello'")
    assert module_records("old", path) == []
