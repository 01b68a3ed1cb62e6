"""Tracking that is killed, and tracking servers that are down, silent, confused or lose their answer. Whole processes, real servers on loopback."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs import track_round
from jobs.config import load_config
from jobs.context import JobContext
from jobs.tracking.client import connected
from jobs.tracking.destination import destination
from jobs.workspace import Workspace
from schemas.ops.rounds import ROUNDS

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

INSTANTS = ["track/run_created", "track/params", "track/metrics", "track/artifacts", "track/ledger"]
APP = """
import importlib
from jobs.cli import track_verbs
main = importlib.import_module("jobs.cli.main")
if "track" not in {command.name for command in main.app.registered_commands}:
    track_verbs.register(main.app)
main.main()
"""


@pytest.fixture
def root(two_rounds, migrated, tmp_path):
    copy = shutil.copytree(two_rounds.root, tmp_path / "ws")
    shutil.copyfile(migrated, copy / "mlflow.db")
    return copy


def here(root, *overrides):
    workspace = Workspace.open(root)
    return JobContext(
        workspace,
        load_config(root, overrides=["track.timeout_seconds=2", *overrides]),
        now=datetime(2026, 1, 2, tzinfo=UTC),
        job_run_id="t",
    )


def command(*arguments, kill_at=None, cwd=None):
    environment = os.environ | ({"VERILAKE_KILL_AT": kill_at} if kill_at else {}) | {"PYTHONPATH": str(Path.cwd())}
    return subprocess.run(
        [sys.executable, "-c", APP, *map(str, arguments)],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def runs(where, experiment="verilake/verilake"):
    """(parents, rounds, points of the headline on the parent, inputs of each round)."""
    with connected(where, 20) as client:
        found = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
        parents = [run for run in found if run.data.tags["verilake.kind"] == "campaign"]
        children = sorted((run for run in found if run.data.tags["verilake.kind"] == "round"), key=lambda run: run.info.run_name)
        points = [(m.step, m.value) for run in parents for m in client.get_metric_history(run.info.run_id, "eval/fixed/solve_rate")]
        files = [sorted(item.path for item in client.list_artifacts(run.info.run_id)) for run in children]
    return parents, children, sorted(points), files


def test_a_round_whose_logging_dies_five_times_is_one_campaign_and_one_run(root, tmp_path):
    for instant in INSTANTS:
        died = command("track", "--round", "1", "-w", root, kill_at=instant, cwd=tmp_path)
        assert died.returncode == -signal.SIGKILL, f"{instant} was not reached: {died.stderr[-2000:]}"
    ctx = here(root)
    # The last one died right behind its event: nothing is left to do for the round.
    assert track_round.pending(ctx) == [2]
    parents, children, points, files = runs(destination(ctx.config.track, ctx.workspace))
    assert (len(parents), len(children)) == (1, 1)
    assert points == [(1, 0.625)]
    assert len(children[0].inputs.dataset_inputs) == 5
    assert children[0].info.status == "FINISHED"
    assert files == [["figures.json", "funnel.json", "pin.json"]]
    assert ctx.lake.delta(ROUNDS).to_pyarrow_table(filters=[("state", "=", "tracked")]).num_rows == 1


def test_a_kill_between_the_campaigns_run_and_the_rounds_leaves_no_second_campaign(root, monkeypatch):
    ctx = here(root)
    from jobs.tracking import runs as module

    class Killed(BaseException):
        pass

    real = module._run

    def dies(client, experiment, key, name, *rest):
        if name == "round-1":
            raise Killed
        return real(client, experiment, key, name, *rest)

    monkeypatch.setattr(module, "_run", dies)
    with pytest.raises(Killed):
        track_round.run(ctx, 1)
    monkeypatch.setattr(module, "_run", real)
    assert track_round.run(ctx, 1).did
    parents, children, _, _ = runs(destination(ctx.config.track, ctx.workspace))
    assert (len(parents), len(children)) == (1, 1)


def test_two_copies_at_once_log_once(root, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", APP, "track", "--json", "-w", str(root)],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    did = [sum(report["did"] for report in json.loads(out.splitlines()[-1])["reports"]) for out in said]
    assert sorted(did) == [0, 2]
    ctx = here(root)
    parents, children, points, _ = runs(destination(ctx.config.track, ctx.workspace))
    assert (len(parents), len(children), points) == (1, 2, [(1, 0.625), (2, 0.625)])


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@contextlib.contextmanager
def server(folder, migrated, port):
    """`mlflow server` over a database in ``folder``; ended with the block, by its own process group."""
    folder.mkdir(exist_ok=True)
    if not (folder / "server.db").exists():
        shutil.copyfile(migrated, folder / "server.db")
    environment = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    arguments = [
        "--backend-store-uri", f"sqlite:///{folder}/server.db", "--artifacts-destination", str(folder / "artifacts"), "--host", "127.0.0.1",
        "--port", str(port), "--workers", "1",
    ]  # fmt: skip
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *arguments],
            env=environment,
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        await_health(port, process, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        end(process)


def end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(20)


def await_health(port, process, log):
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()[-2000:] if log else "ended"
        with (
            contextlib.suppress(OSError, http.client.HTTPException),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer,
        ):
            if answer.status == 200:
                return
        time.sleep(0.2)
    pytest.fail("the server did not come up")


def test_a_server_that_goes_away_and_comes_back_misses_no_round(root, migrated, tmp_path, capfd, caplog):
    port = free_port()
    ctx = here(root, f"track.uri=http://me:s3cret@127.0.0.1:{port}")
    where = destination(ctx.config.track, ctx.workspace)
    with server(tmp_path / "server", migrated, port):
        assert track_round.run(ctx, 1).did
    started = time.monotonic()
    report = track_round.run(ctx, 2)
    assert time.monotonic() - started < 10  # refused at once
    assert (report.did, report.counts) == (False, {"pending": 1})
    assert track_round.pending(ctx) == [2]
    with server(tmp_path / "server", migrated, port):
        assert [report.did for report in track_round.run_pending(ctx)] == [True]
        parents, children, points, files = runs(where)
    assert track_round.pending(ctx) == []
    assert (len(parents), len(children), points) == (1, 2, [(1, 0.625), (2, 0.625)])
    # The files went through the server, not into the workspace.
    assert "samples" in files[1]
    assert list((tmp_path / "server" / "artifacts").rglob("rl.jsonl"))
    assert not (root / "mlartifacts").exists()
    out, err = capfd.readouterr()
    assert "s3cret" not in out + err + caplog.text
    assert b"s3cret" not in (tmp_path / "server" / "server.db").read_bytes()


@contextlib.contextmanager
def answering(answer):
    """A server that accepts, sends ``answer`` to each request and keeps the connection open."""
    held, open_ones = socket.create_server(("127.0.0.1", 0)), []

    def accept():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = held.accept()
                open_ones.append(connection)
                if answer:
                    connection.recv(65536)
                    connection.sendall(answer)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield held.getsockname()[1], open_ones
    finally:
        held.shutdown(socket.SHUT_RDWR)
        held.close()
        thread.join(5)
        for connection in open_ones:
            connection.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"exp',
        b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n<html>hi</html>",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
        b"\x00\xff not HTTP at all\r\n\r\n",
    ],
    ids=["silent", "half", "html", "busy", "refusing", "garbage"],
)
def test_a_server_that_answers_badly_leaves_the_rounds_pending_soon(root, caplog, answer):
    with answering(answer) as (port, asked):
        ctx = here(root, f"track.uri=http://127.0.0.1:{port}")
        started = time.monotonic()
        reports = track_round.run_pending(ctx)
        took = time.monotonic() - started
    assert [(report.did, report.counts) for report in reports] == [(False, {"pending": 1}), (False, {"pending": 1})]
    # Two seconds of one request and the import of mlflow; the second round does not ask again.
    assert took < 20
    assert 1 <= len(asked) <= 2
    assert "not logged yet: round 1, 2" in caplog.text
    assert track_round.pending(ctx) == [1, 2]
    assert not ctx.lake.delta(ROUNDS).to_pyarrow_table(filters=[("state", "=", "tracked")]).num_rows


def test_a_database_server_that_is_not_there_is_given_up_at_once(root, caplog):
    ctx = here(root, f"track.uri=postgresql://me:s3cret@127.0.0.1:{free_port()}/rounds")
    started = time.monotonic()
    assert track_round.run(ctx, 1).counts == {"pending": 1}
    assert time.monotonic() - started < 10
    assert "s3cret" not in caplog.text


class Forgetful(http.server.BaseHTTPRequestHandler):
    """Forwards to a real server; its answer to the first two creations of a run is lost."""

    upstream = 0
    lost = 0

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = urllib.request.Request(f"http://127.0.0.1:{self.upstream}{self.path}", data=body or None, method=self.command)
        for name in ("Content-Type",):
            if self.headers.get(name):
                request.add_header(name, self.headers[name])
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310  # an address of this test
                status, said, kind = answer.status, answer.read(), answer.headers.get("Content-Type", "application/json")
        except urllib.error.HTTPError as error:
            status, said, kind = error.code, error.read(), "application/json"
            error.close()
        if self.path.endswith("/runs/create") and type(self).lost < 2:
            type(self).lost += 1
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_PUT = do_PATCH = forward  # noqa: N815  # names of http.server

    def log_message(self, *_):
        pass


def test_an_answer_that_is_lost_makes_no_second_run(root, migrated, tmp_path):
    upstream = free_port()
    with server(tmp_path / "server", migrated, upstream) as direct:
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Proxy", (Forgetful,), {"upstream": upstream}))
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            ctx = here(root, f"track.uri=http://127.0.0.1:{proxy.server_address[1]}", "track.timeout_seconds=10")
            did = [track_round.run(ctx, 1).did for _ in range(3)]
        finally:
            proxy.shutdown()
            proxy.server_close()
            thread.join(5)
        parents, children, points, _ = runs(destination(here(root, f"track.uri={direct}").config.track, ctx.workspace))
    assert did == [False, False, True]
    assert (len(parents), len(children), points) == (1, 1, [(1, 0.625)])


def test_the_verb_ends_with_1_while_rounds_are_pending_and_says_how_to_go_on(root, tmp_path):
    done = command(
        "track",
        "-w",
        root,
        "--json",
        "--set",
        f"track.uri=http://me:s3cret@127.0.0.1:{free_port()}",
        "--set",
        "track.timeout_seconds=2",
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "run verilake track again" in done.stderr
    assert [report["counts"] for report in json.loads(done.stdout.splitlines()[0])["reports"]] == [{"pending": 1}, {"pending": 1}]
    assert "s3cret" not in done.stdout + done.stderr


def test_ui_serves_the_workspaces_runs_on_loopback_until_interrupted(root, tmp_path):
    assert track_round.run(here(root), 1).did
    port = free_port()
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    log = (tmp_path / "ui.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-c", APP, "ui", "-w", str(root), "--port", str(port)],
        env=environment,
        cwd=tmp_path,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    try:
        await_health(port, process, tmp_path / "ui.log")
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/2.0/mlflow/experiments/search",
            data=b'{"max_results": 10}',
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310  # an address of this test
            names = [experiment["name"] for experiment in json.loads(answer.read())["experiments"]]
        os.killpg(process.pid, signal.SIGINT)
        process.wait(30)
    finally:
        end(process)
        log.close()
    assert "verilake/verilake" in names
    assert f"http://127.0.0.1:{port}" in (tmp_path / "ui.log").read_text()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_ui_without_a_logged_round_or_with_a_taken_port_says_what_to_do(two_rounds, root, tmp_path):
    nothing = command("ui", "-w", two_rounds.root, cwd=tmp_path)
    assert nothing.returncode == 1
    assert "verilake track" in nothing.stderr
    with socket.create_server(("127.0.0.1", 0)) as held:
        taken = command("ui", "-w", root, "--port", held.getsockname()[1], cwd=tmp_path)
    assert "--port" in taken.stderr
    remote = command("ui", "-w", root, "--set", "track.uri=http://me:s3cret@tracking.example", cwd=tmp_path)
    assert remote.returncode == 0
    assert "http://tracking.example" in remote.stdout
    assert "s3cret" not in remote.stdout
