"""What the README says a reader can type, exists; the figures it states are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from jobs.cli.main import app
from jobs.config import load_config
from udfs.extract.segment import MAX_LOOK

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
LINES = [line.split(" #")[0].strip() for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
COMMANDS = [line for line in LINES if line.startswith("verilake ")]


def test_there_are_commands_to_check():
    assert len(COMMANDS) >= 8


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_parses(line, tmp_path):
    group = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    command = group.commands[words[0]]
    # parses flags and arguments without running anything
    command.make_context(words[0], words[1:], resilient_parsing=False)


def test_every_make_target_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)\b(?! up)", README))
    assert named <= targets
    assert {"demo", "test", "help", "lint"} <= named


def test_every_room_and_file_named_exists():
    for path in re.findall(r"`((?:schemas|udfs|gpu_workers|jobs|conf|tests)/[\w./]*)`", README):
        if path != "conf/verilake.toml":  # of a workspace
            assert (ROOT / path).exists(), path


def test_stated_figures_are_those_of_the_code():
    assert f"{MAX_LOOK:,} code points" in README
    assert f"{load_config().ingest.max_document_bytes // 2**20} MiB" in README


def test_the_verbs_listed_are_the_stations():
    group = typer.main.get_command(app)
    listed = re.search(r"verb of its own \(([^)]*)\)", README).group(1)
    assert set(re.findall(r"`([a-z-]+)`", listed)) <= set(group.commands)
