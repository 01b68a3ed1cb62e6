"""Publication dies at every step, or meets a full disk: afterwards there is one commit, one tag, the same bytes, or everything as before."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobs import publish_round
from jobs.config import load_config
from jobs.context import JobContext
from jobs.lake.layout import Lake
from jobs.ledger import read_events
from jobs.publish.errors import ExportError
from jobs.publish.history import History
from jobs.workspace import Workspace
from schemas.ops.job_runs import JOB_RUNS
from schemas.ops.rounds import ROUNDS
from tests.publish_lake import AT, add_round, lay

pytestmark = [pytest.mark.spark, pytest.mark.faults]

#: In the order in which publication reaches them. From ``publish/git`` on, the next one is reached without reading a row again.
STEPS = ["publish/export", "publish/hash", "publish/dvc", "publish/git", "publish/tag", "publish/ledger"]

CODE = """
import sys
from pathlib import Path
from jobs import publish_round
from jobs.config import load_config
from jobs.context import JobContext
from jobs.workspace import Workspace
from tests.publish_lake import AT
root = Path(sys.argv[1])
publish_round.run(JobContext(Workspace.open(root), load_config(root, overrides=sys.argv[2:]), now=AT), 2)
"""


def context(root, spark):
    return JobContext(Workspace.open(root), load_config(root), now=AT, session=spark)


def state(root):
    """Everything that a publication lays, by name and bytes; and what git has."""
    paths = [*(root / "datasets").rglob("*"), *(root / "pins").glob("*"), root / "params.yaml", root / "dvc.lock"]
    held = {str(path.relative_to(root)): path.read_bytes() for path in paths if path.is_file()}
    refs = subprocess.check_output(["git", "for-each-ref"], cwd=root, text=True)
    return held, refs


def objects(root):
    return {str(path.relative_to(root)) for path in (root / ".dvc" / "cache" / "files").rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def before(spark, tmp_path_factory):
    """Round 1 published, round 2 closed."""
    workspace = lay(tmp_path_factory.mktemp("faults") / "ws")
    add_round(workspace, 1, train=range(4, 30), bulk=50)
    publish_round.run(context(workspace.root, spark), 1)
    add_round(workspace, 2, train=range(8, 36), bulk=50)
    return workspace.root


# four JVMs one after another
@pytest.mark.timeout(1800)
def test_death_at_every_step_ends_in_one_commit_one_tag_and_the_same_bytes(before, spark, interpreted, tmp_path):
    undisturbed = shutil.copytree(before, tmp_path / "undisturbed", symlinks=True)
    publish_round.run(context(undisturbed, spark), 2)
    root = shutil.copytree(before, tmp_path / "ws", symlinks=True)
    for step in STEPS:
        done = subprocess.run(
            [sys.executable, "-c", CODE, str(root), *interpreted], env=os.environ | {"VERILAKE_KILL_AT": step}, capture_output=True, text=True, check=False,
            timeout=600,
        )  # fmt: skip
        assert done.returncode == -signal.SIGKILL, f"{step} was not reached: {done.stderr[-2000:]}"
    publish_round.run(context(root, None), 2)
    assert state(root) == state(undisturbed)
    assert [p.tag for p in History(root).publications()] == ["round-1", "round-2"]
    assert subprocess.check_output(["git", "rev-list", "--count", "HEAD"], cwd=root).strip() == b"2"
    assert subprocess.check_output(["git", "status", "--porcelain"], cwd=root) == b""
    assert not (root / ".publish").exists()
    lake = Lake(root / "lake")
    assert len([e for e in read_events(lake, ROUNDS) if e["state"] == "published" and e["round"] == 2]) == 1
    assert len([e for e in read_events(lake, JOB_RUNS) if e["job"] == "publish_round" and e["scope"] == "round=2"]) == 1
    assert objects(root) == objects(undisturbed)


@pytest.mark.parametrize("step", ["stage", "commit", "git"])
def test_an_error_at_any_step_leaves_everything_as_before(before, spark, tmp_path, monkeypatch, step):
    root = shutil.copytree(before, tmp_path / "ws", symlinks=True)
    was, had = state(root), objects(root)
    if step == "stage":
        monkeypatch.setattr("jobs.publish_round.make_pin", fail)
    elif step == "commit":
        # DVC's own lock file is a folder: the real command fails
        shutil.rmtree(root / ".dvc" / "tmp", ignore_errors=True)
        (root / ".dvc" / "tmp").write_text("no folder")
    else:
        # the branch is held by another git: the very last step fails
        (root / ".git" / "refs" / "heads" / "main.lock").write_text("")
    with pytest.raises(Exception, match=r"failed with exit code|broken on purpose"):
        publish_round.run(context(root, spark), 2)
    assert state(root) == was
    # a few small listings may stay in the cache, no file of a set
    assert not any((root / path).read_bytes().startswith(b"PAR1") for path in objects(root) - had)
    assert not (root / ".publish").exists()


def fail(*_):
    raise OSError("broken on purpose")


@pytest.fixture
def small_disk(tmp_path):
    """A tmpfs of 24 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], check=False, capture_output=True).returncode
    ):
        pytest.skip("mounting a small tmpfs needs root and a kernel that lets it mount")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("left", ["nothing", "little"])
def test_a_full_disk_is_a_clear_error_and_nothing_is_half_published(before, spark, small_disk, left):
    root = shutil.copytree(before, small_disk / "ws", symlinks=True)
    was = state(root)
    free = shutil.disk_usage(root).free
    # "little": the first sets are written, then the disk is full
    filler = root.parent / "filler"
    filler.write_bytes(b"x" * (free - (8192 if left == "nothing" else 140_000)))
    with pytest.raises(ExportError, match=r"disk is full|are needed to publish"):
        publish_round.run(context(root, spark), 2)
    filler.unlink()
    assert state(root) == was
    assert not (root / ".publish").exists()
    assert publish_round.run(context(root, spark), 2).did
    assert [p.tag for p in History(root).publications()] == ["round-1", "round-2"]


def test_missing_git_is_named_before_anything_is_read(before, tmp_path, monkeypatch):
    root = shutil.copytree(before, tmp_path / "ws", symlinks=True)
    monkeypatch.setenv("PATH", str(Path("/nonexistent")))
    with pytest.raises(Exception, match="git is needed to publish"):
        publish_round.run(context(root, None), 2)
