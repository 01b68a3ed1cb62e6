"""git and DVC of a workspace: its own repository, its own commits, and nothing of the surroundings in them."""

from __future__ import annotations

import subprocess
import zipfile
from datetime import UTC, datetime

import pytest

from jobs.bundle import build
from jobs.publish.assemble import StagedSet, file_name
from jobs.publish.errors import HistoryError, NotPublishedError
from jobs.publish.history import TRAILER, History, tag_of
from jobs.publish.objects import Cache
from jobs.publish.repository import IGNORED, LAID, stage_file
from jobs.publish.swap import Staging, to_cache
from jobs.workspace import Workspace

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FINGERPRINT = "0123456789abcdef" * 2


def git(root, *arguments):
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def message(tag):
    return f"Publish {tag}\n\n{TRAILER} {tag} {FINGERPRINT}\n"


@pytest.fixture
def history(tmp_path):
    return History(Workspace.init(tmp_path / "ws").root)


def test_a_workspace_inside_another_repository_gets_its_own(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    history = History(Workspace.init(tmp_path / "ws").root)
    assert (tmp_path / "ws" / ".git").is_dir()
    commit = history.commit(LAID, message("round-1"), NOW)
    history.tag("round-1", commit)
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert git(tmp_path / "ws", "log", "--format=%H").split() == [commit]
    assert git(tmp_path, "for-each-ref") == ""
    assert [p.tag for p in history.publications()] == ["round-1"]


def test_laying_again_changes_nothing_and_brings_an_old_workspace_forward(tmp_path):
    root = Workspace.init(tmp_path).root
    (root / "dvc.yaml").write_text("mine: 1\n")
    (root / ".gitignore").write_text("/lake/\n# mine")
    Workspace.init(root)
    assert (root / "dvc.yaml").read_text() == "mine: 1\n"
    lines = (root / ".gitignore").read_text().splitlines()
    assert lines[:2] == ["/lake/", "# mine"]
    assert set(IGNORED) <= set(lines)
    assert len(lines) == len(set(lines))


def test_the_stage_is_the_one_of_the_root_also_from_the_zip(tmp_path):
    outs = [line for line in stage_file().splitlines() if "- datasets/" in line]
    assert len(outs) == 5
    assert zipfile.ZipFile(build(tmp_path / "v.zip")).read("dvc.yaml").decode() == stage_file()


def test_only_named_paths_are_committed_and_what_is_staged_stays_staged(history):
    (history.root / "mine.txt").write_text("half done")
    (history.root / "params.yaml").write_text("round: 1\n")
    git(history.root, "add", "mine.txt")
    commit = history.commit([*LAID, "params.yaml"], message("round-1"), NOW)
    history.refresh([*LAID, "params.yaml"])
    assert git(history.root, "ls-tree", "-r", "--name-only", commit).split() == sorted([*LAID, "params.yaml"])
    assert git(history.root, "status", "--porcelain") == "A  mine.txt\n"
    assert git(history.root, "log", "-1", "--format=%aI %cI").split() == ["2026-01-02T03:04:05+00:00"] * 2


def test_hooks_and_signing_of_the_machine_do_not_run(history, tmp_path):
    hook = history.root / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    hook.chmod(0o755)
    git(history.root, "config", "commit.gpgsign", "true")
    history.tag("round-1", history.commit(LAID, message("round-1"), NOW))
    assert not (tmp_path / "ran").exists()


def test_without_an_identity_the_commit_carries_ours(history, monkeypatch, tmp_path):
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    assert history.identity()
    history.commit(LAID, message("round-1"), NOW)
    assert git(history.root, "log", "-1", "--format=%an %ae").strip() == "verilake verilake@localhost"
    (tmp_path / "none").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    assert not history.identity()
    history.commit(LAID, message("round-2"), NOW)
    assert git(history.root, "log", "-1", "--format=%an %ae").strip() == "Ada ada@example.org"


def test_a_tag_never_moves_and_foreign_tags_are_no_publications(history):
    first = history.commit(LAID, message("round-1"), NOW)
    history.tag("round-1", first)
    (history.root / "params.yaml").write_text("round: 2\n")
    second = history.commit(["params.yaml"], message("round-1.2"), NOW)
    with pytest.raises(HistoryError, match="update-ref"):
        history.tag("round-1", second)
    assert history.untagged("round-1.2") is not None
    history.tag("round-1.2", second)
    git(history.root, "tag", "round-7", first)
    git(history.root, "tag", "round-evil$(id)", first)
    assert [(p.tag, p.round_no, p.attempt, p.commit) for p in history.publications()] == [
        ("round-1", 1, 1, first),
        ("round-1.2", 1, 2, second),
    ]
    assert history.publications()[0].fingerprint == FINGERPRINT
    assert history.newest(1).tag == tag_of(1, 2)
    with pytest.raises(NotPublishedError, match="round 7 is not published"):
        history.newest(7)


def test_a_commit_before_its_tag_is_found_wherever_it_lies(history):
    assert history.untagged("round-1") is None
    commit = history.commit(LAID, message("round-1"), NOW)
    (history.root / "other").write_text("x")
    git(history.root, "add", "other")
    git(history.root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", f"quotes {TRAILER} round-1 of another")
    found = history.untagged("round-1")
    assert found is not None
    assert found.commit == commit
    assert history.untagged("round-2") is None


def test_a_detached_head_is_refused(history):
    commit = history.commit(LAID, message("round-1"), NOW)
    git(history.root, "checkout", "-q", "--force", "--detach", commit)
    with pytest.raises(HistoryError, match="git switch main"):
        history.branch()


def test_missing_git_is_one_clear_line(history, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HistoryError, match=r"^git is needed to publish and was not found: install it .*again\.$"):
        history.git("status")


@pytest.mark.parametrize(
    ("segment", "name"),
    [
        ("round=3", "round-00003-00001.parquet"),
        ("ingest=ab12cd34ef567890", "ingest-ab12cd34ef56-00001.parquet"),
        ("all", "all-00001.parquet"),
    ],
)
def test_file_names_are_readable(segment, name):
    assert file_name(segment, 1) == name


@pytest.mark.parametrize("segment", ["-rf=1", "../x=1", "ingest=$(touch pwned)", "ingest=../../etc", "'; --", "", "round=²", "ROUND=1"])
def test_file_names_are_safe_and_differ_whatever_a_segment_is_called(segment):
    name = file_name(segment, 0)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
    assert name[0].isalpha()
    assert name != file_name(segment + "x", 0)


def staged(root, staging, name, text):
    folder = staging.set_folder(name)
    folder.mkdir(parents=True)
    (folder / "MANIFEST.json").write_text(text)
    return StagedSet(manifest=None, folder=folder)


def laid(tmp_path):
    root = Workspace.init(tmp_path).root
    for name in ("rl", "sft"):
        (root / "datasets" / name).mkdir(parents=True)
        (root / "datasets" / name / "MANIFEST.json").write_text(f"old {name}")
    (root / "params.yaml").write_text("old")
    (root / "dvc.lock").write_text("old lock")
    return root


def state(root):
    paths = [*(root / "datasets").rglob("*"), root / "params.yaml", root / "dvc.lock", *(root / "pins").glob("*")]
    return {str(path.relative_to(root)): path.read_text() for path in paths if path.is_file()}


def test_a_swap_is_taken_back_whole(tmp_path):
    root = laid(tmp_path)
    before, staging = state(root), Staging(root)
    staging.begin()
    sets = {name: staged(root, staging, name, f"new {name}") for name in ("rl", "sft", "eval")}
    staging.swap("round-2", sets, {"params.yaml": b"new", "pins/round-2.json": b"{}"})
    (root / "dvc.lock").write_text("new lock")
    assert state(root)["datasets/eval/MANIFEST.json"] == "new eval"
    staging.roll_back()
    staging.roll_back()
    assert state(root) == before


def test_a_swap_that_died_is_taken_back_by_the_next_run_and_a_committed_one_stands(tmp_path):
    root = laid(tmp_path)
    before, staging, history = state(root), Staging(root), History(root)
    for committed in (False, True):
        staging.begin()
        sets = {name: staged(root, staging, name, f"new {name}") for name in ("rl", "eval")}
        staging.swap("round-2", sets, {"params.yaml": b"new"})
        after = state(root)
        if committed:
            history.commit(LAID, message("round-2"), NOW)
        Staging(root).recover(history)
        assert state(root) == (after if committed else before)
        assert not staging.folder.exists()


def test_equal_bytes_lie_once_in_the_cache(tmp_path):
    root = Workspace.init(tmp_path).root
    cache, paths = Cache.of(root), []
    for name in ("a", "b"):
        path = root / f"{name}.parquet"
        path.write_text("same")
        paths.append(path)
        added = to_cache(cache, StagedSet(manifest=None, folder=root, new={path: "0" * 32}))
        assert len(added) == (name == "a")
    assert paths[0].stat().st_ino == paths[1].stat().st_ino == cache.path("0" * 32).stat().st_ino


def test_the_cache_that_dvc_is_told_of_is_the_one_that_is_read(tmp_path):
    root = Workspace.init(tmp_path / "ws").root
    assert Cache.of(root).folder == root / ".dvc" / "cache"
    (root / ".dvc" / "config.local").write_text(f"[cache]\n    dir = {tmp_path / 'shared'}\n")
    assert Cache.of(root).folder == tmp_path / "shared"
    (root / ".dvc" / "config.local").write_text("[cache]\n    dir = ../../other\n")
    assert Cache.of(root).folder == tmp_path / "other"
