"""ingest and curate by spark-submit on a standalone cluster of loopback processes: the same checksums as in local mode.

Driver and workers run a Python that cannot see this checkout (no site directory, no editable install), away from it: only
``dist/verilake.zip`` can serve them.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pyspark
import pytest

from jobs import curate_corpus, ingest_corpus
from jobs.bundle import build
from jobs.config import load_config
from jobs.lake.checksum import checksum_of
from jobs.lake.layout import Lake
from jobs.lake.write import read_table
from jobs.loop import ingests
from jobs.session import submit_arguments
from jobs.workspace import Workspace
from schemas.bronze.documents import DOCUMENTS
from schemas.bronze.rejects import REJECTS
from schemas.silver.document_verdicts import DOCUMENT_VERDICTS
from schemas.silver.documents import DOCUMENTS as KEPT
from tests.faults.handoff_runs import committed_rows, lay_rollout

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[2]
SPARK_HOME = Path(pyspark.__file__).parent


@pytest.fixture(scope="module")
def blind_python(tmp_path_factory):
    """A Python with the installed packages but without .pth files, hence without the editable install of this checkout."""
    script = tmp_path_factory.mktemp("python") / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{sysconfig.get_path("purelib")}" exec {sys.executable} -S "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, blind_python):
    """A master and two workers on loopback; ended by their own process ids."""
    folder = tmp_path_factory.mktemp("cluster")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "PYTHONPATH", "SPARK"))}
    environment |= {
        "SPARK_HOME": str(SPARK_HOME),
        "PYSPARK_PYTHON": str(blind_python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
    }

    def start(name, *arguments):
        log = (folder / f"{name}.log").open("w")
        command = [str(SPARK_HOME / "bin" / "spark-class"), *arguments]
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)

    master = start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    workers = []
    try:
        url = _wait_for(folder / "master.log", r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
        workers.extend(
            start(
                name, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g",
                "--work-dir", str(folder / name), url,
            )
            for name in ("worker1", "worker2")
        )  # fmt: skip
        for name in ("worker1", "worker2"):
            _wait_for(folder / f"{name}.log", "Successfully registered with master")
        yield url
    finally:
        for process in [*workers, master]:
            process.terminate()
        for process in [*workers, master]:
            process.wait(30)


def _wait_for(log, pattern, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if log.exists() and (found := re.search(pattern, log.read_text())):
            return found.group(found.lastindex or 0)
        time.sleep(0.2)
    raise AssertionError(f"{pattern} did not appear in {log}: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Two files with duplicates, near duplicates and a broken line."""
    folder = tmp_path_factory.mktemp("corpus") / "notes"
    folder.mkdir()
    words = [
        "river",
        "stone",
        "lamp",
        "garden",
        "copper",
        "window",
        "letter",
        "morning",
        "engine",
        "paper",
        "silver",
        "bridge",
        "market",
        "winter",
    ]

    def text(i, edit=""):
        return " ".join(words[(i * 7 + k * (i % 5 + 1) + k * k * (i % 3)) % len(words)] + str((i * 31 + k) % 97) for k in range(120)) + edit

    lines = [json.dumps({"id": f"d{i}", "text": text(i)}) for i in range(60)]
    lines += [json.dumps({"id": f"copy{i}", "text": text(i)}) for i in range(10)]
    lines += [json.dumps({"id": f"edit{i}", "text": text(i, " and an afterthought")}) for i in range(10, 20)]
    (folder / "a.jsonl").write_text("\n".join(lines[:40]) + "\n{broken\n")
    with gzip.open(folder / "b.jsonl.gz", "wt") as out:
        out.write("\n".join(lines[40:]) + "\n")
    return folder


def submit(url, blind_python, script, *arguments, py_files, settings=()):
    command = [
        str(SPARK_HOME / "bin" / "spark-submit"), "--master", url, "--executor-memory", "512m", "--driver-memory", "1g",
        "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.ui.enabled=false",
        "--conf", f"spark.pyspark.python={blind_python}", *submit_arguments(load_config(overrides=settings)),
        *(["--py-files", str(py_files)] if py_files else []), str(ROOT / "jobs" / script), *arguments,
    ]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "PYTHONPATH"))}
    environment |= {"PYSPARK_DRIVER_PYTHON": str(blind_python), "PYSPARK_PYTHON": str(blind_python), "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_cluster_gives_the_checksums_of_local_mode(spark, cluster, blind_python, corpus, tmp_path, make_context, empty_lake, interpreted):
    zipped = build(tmp_path / "verilake.zip", ROOT)
    workspace = tmp_path / "far"
    # away from the checkout, without the zip, nothing can be imported: the proof that the zip serves what follows
    bare = submit(cluster, blind_python, "ingest_corpus.py", str(corpus), "--workspace", str(workspace), py_files=None)
    assert bare.returncode != 0
    # spark-submit hands the traceback of the driver on through stdout
    assert "No module named" in bare.stdout + bare.stderr

    shutil.copytree(empty_lake, Workspace.init(workspace).lake_root, dirs_exist_ok=True)
    quick = [override for override in interpreted if override.startswith("spark.conf")]
    for script, arguments in (("ingest_corpus.py", [str(corpus)]), ("curate_corpus.py", [])):
        done = submit(cluster, blind_python, script, *arguments, "--workspace", str(workspace), "--json", py_files=zipped, settings=quick)
        assert done.returncode == 0, done.stderr[-3000:]
        json.loads(done.stdout.splitlines()[-1])

    ctx = make_context(name="near")
    ingest_corpus.run(ctx, [str(corpus)])
    for ident in ingests(ctx):
        curate_corpus.run(ctx, ident)
    far = Lake(workspace / "lake")
    for table in (DOCUMENTS, REJECTS, KEPT, DOCUMENT_VERDICTS):
        held = checksum_of(read_table(spark, far, table), table)
        assert held.rows > 0
        assert held == checksum_of(read_table(spark, ctx.lake, table), table), table.name


def test_a_stage_of_workers_drains_a_run_and_the_cluster_needs_nothing_but_the_zip(cluster, blind_python, tmp_path):
    workspace = Workspace.init(tmp_path / "ws")
    run = lay_rollout(workspace.handoff_root / "rollout" / "run=r1", shards=4)
    zipped = build(tmp_path / "verilake.zip", ROOT)
    flags = ["--launcher", "spark", "--workers", "2", "--workspace", str(workspace.root), "--set", f"work.python={blind_python}", "--json"]
    done = submit(cluster, blind_python, "work_runs.py", *flags, py_files=zipped)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"drained": ["r1"]}
    assert len(committed_rows(run)) == 4 * 8 * 3
    assert all(run.commit(sid).worker_id.startswith("spark-") for sid in run.plan.shards)
