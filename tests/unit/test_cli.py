"""The command as a user meets it, in processes of their own; none of these starts a JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest


def verilake(*arguments, **environment):
    env = os.environ | environment
    return subprocess.run([sys.executable, "-m", "jobs.cli", *map(str, arguments)], capture_output=True, text=True, check=False, env=env)


@pytest.fixture
def workspace(tmp_path):
    done = verilake("init", tmp_path / "ws", "--json")
    assert json.loads(done.stdout) == {"workspace": str(tmp_path / "ws")}
    return tmp_path / "ws"


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"text": "one document"}\n')
    return path


def test_every_error_of_the_configuration_at_once_and_exit_2(workspace, corpus):
    (workspace / "conf" / "verilake.toml").write_text('[plan]\ntrain_prompts = "many"\nnope = 1\n')
    done = verilake("ingest", corpus, "-w", workspace, "--set", "curate.kernel=gpu")
    assert done.returncode == 2
    for part in ("3 errors", "plan.train_prompts = 'many'", "plan.nope: unknown key", "curate.kernel = 'gpu'"):
        assert part in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["curate"], ["no-such-verb"], ["ingest"], ["plan", "--round", "0"]])
def test_wrong_use_is_exit_2(tmp_path, arguments):
    done = verilake(*arguments, *(["-w", tmp_path] if arguments[0] == "curate" else []))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_missing_java_is_one_line_that_says_what_to_install(workspace, corpus, tmp_path):
    done = verilake("ingest", corpus, "-w", workspace, PATH=str(tmp_path), JAVA_HOME="")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "no `java` was found: install it" in done.stderr


def test_an_old_java_is_named(workspace, corpus, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    done = verilake("ingest", corpus, "-w", workspace, JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "found 11.0.2" in done.stderr


def test_missing_input_and_a_job_before_its_turn_are_exit_3(workspace):
    done = verilake("ingest", workspace / "absent.jsonl", "-w", workspace)
    assert (done.returncode, "no such file" in done.stderr) == (3, True)
    done = verilake("curate", "-w", workspace)
    assert (done.returncode, "verilake ingest PATH" in done.stderr) == (3, True)


def test_reading_verbs_on_an_empty_workspace(workspace):
    done = verilake("status", "-w", workspace)
    assert (done.returncode, "next: verilake ingest" in done.stdout) == (0, True)
    assert verilake("funnel", "-w", workspace).returncode == 3
    assert verilake("explain", "0" * 32, "-w", workspace).returncode == 3


def test_conf_prints_toml_that_loads_as_the_same(workspace, tmp_path):
    printed = verilake("conf", "-w", workspace, "--set", "plan.train_prompts=7").stdout
    (tmp_path / "again.toml").write_text(printed)
    assert verilake("conf", "-w", workspace, "--conf", tmp_path / "again.toml").stdout == printed
    assert "train_prompts = 7" in printed


def test_help_names_every_verb():
    said = verilake("--help").stdout
    for verb in [
        "init",
        "ingest",
        "curate",
        "convert",
        "admit",
        "plan",
        "rollout",
        "ingest-rollouts",
        "check",
        "feedback",
        "run",
        "status",
        "funnel",
        "explain",
        "sql",
        "work",
    ]:
        assert verb in said
