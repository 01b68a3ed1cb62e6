"""Episodes in which everything goes wrong: tools that loop, eat memory and fork, sandboxes and workers that are killed; hidden tests are nowhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpu_workers.engines.engine import EngineDeadError
from gpu_workers.engines.options import EngineOptions
from gpu_workers.programs.agent import AgentProgram
from gpu_workers.programs.host import Host
from gpu_workers.programs.policies import Policies
from gpu_workers.programs.program import Origin
from schemas.handoff import AGENT_SHARD, PART_SCHEMAS
from schemas.ids import content_id
from tests.engine_runs import lay_run
from tests.faults.handoff_runs import committed_rows
from tests.sandboxes import descendants
from tests.scripted_engine import ScriptedEngine, call
from udfs.sandbox.sandbox import Sandbox, SandboxUnavailableError
from udfs.store.parts import expected_rows, judge_rows

pytestmark = pytest.mark.faults

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"temperature": 1.0, "max_response_tokens": 4000}
LIMITS = {"call_seconds": 2.0, "memory_mb": 128, "processes": 24}


@pytest.fixture(scope="module")
def sandbox():
    try:
        return Sandbox.probe()
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


def item(word, environment="python_tool", samples=1, setting=None):
    return {
        "prompt_id": content_id("prompt", word), "round": 1, "system": "", "text": word, "question": "", "subject": "", "context": None, "options": "[]",
        "form": "answer_only", "n_samples": samples, "seed": 5, "environment": environment, "setting": json.dumps(setting or {"limits": LIMITS}),
        "max_turns": 8,
    }  # fmt: skip


class Stage:
    """A run of episodes in this process."""

    def __init__(self, folder, sandbox, items, scripts, **settings):
        self.sandbox, self.engine = sandbox, ScriptedEngine(scripts)
        self.host = Host(self.engine, EngineOptions(in_flight=8), 30.0)
        self.run = lay_run(folder / "run=r1", "agent", "scripted", {"s0": items}, AGENT_SHARD, SETTINGS | settings)
        self.program = AgentProgram(self.run.plan, self.host, Policies(self.run), lambda: NOW, sandbox)

    def episodes(self):
        """Each item as it ends."""
        return self.program.generate(self.run.shard_items("s0").to_pylist(), Origin("w", 1), lambda _: None)

    def rows(self):
        """All rows, proven as a worker's part would be."""
        rows = [row for finished in self.episodes() for row in finished.rows]
        part = pa.Table.from_pylist(rows, schema=PART_SCHEMAS["agent"])
        assert judge_rows(self.run.plan, expected_rows(self.run.plan, self.run.shard_items("s0")), part) is None
        return part.to_pylist()

    def supervisors(self):
        """Processes that keep the sandboxes of this worker, one each."""
        launcher = self.sandbox._launcher._started.process.pid
        return [pid for pid in descendants(launcher) if _parent(pid) == launcher and _alive(pid)]


def _stat(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["Z", "0"]


def _parent(pid):
    return int(_stat(pid)[1])


def _alive(pid):
    return _stat(pid)[0] != "Z"


def eventually(holds, seconds=20.0):
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def stage(tmp_path, sandbox):
    """Builds a stage; afterwards nothing runs in any sandbox."""
    made = []

    def build(items, scripts, **settings):
        made.append(Stage(tmp_path / str(len(made)), sandbox, items, scripts, **settings))
        return made[-1]

    yield build
    for one in made:
        one.host.close()
    assert eventually(lambda: made[0].supervisors() == [])


def statuses(row):
    return [turn["tool_status"] for turn in row["turns"] if turn["role"] == "tool"]


BOMB = "import os\nwhile True:\n    os.fork()"


@pytest.mark.parametrize(
    ("environment", "name", "argument", "code", "allowed", "text"),
    [
        ("python_tool", "python", "code", "while True: pass", {"tool_timeout"}, "longer than 2 seconds"),
        ("python_tool", "python", "code", "import signal, time\nsignal.signal(15, signal.SIG_IGN)\ntime.sleep(99)", {"tool_timeout"}, "longer than 2"),
        ("python_tool", "python", "code", "x = [b'1' * 10**6 for _ in range(10**6)]", {"tool_error"}, "emory"),
        ("python_tool", "python", "code", BOMB, {"tool_error", "tool_timeout"}, ""),
        ("python_tool", "python", "code", "import os\nwhile True: os.write(1, b'y' * 65536)", {"tool_error"}, "printed more than it may"),
        ("python_tool", "python", "code", "import os\nfor fd in range(3, 20):\n    try: os.write(fd, b'\\0\\0\\0\\2{}')\n    except OSError: pass",
         {"tool_error"}, "interfered with the tool"),
        ("workspace", "run", "command", "while :; do :; done", {"tool_timeout"}, "[killed after 2 seconds]"),
        ("workspace", "run", "command", "f() { f | f & }; f; sleep 9", {"tool_timeout", "tool_error"}, ""),
        ("workspace", "run", "command", "python3 -c 'x = [b\"1\" * 10**6 for _ in range(10**6)]'", {"tool_error"}, ""),
        # by its time or by its output, whichever bound a machine reaches first
        ("workspace", "run", "command", "yes", {"tool_timeout", "tool_error"}, "characters left out]"),
        ("workspace", "run", "command", "head -c 99999999 /dev/zero > big", {"tool_error"}, "No space left on device"),
        ("python_tests", "run_tests", "code", "def f():\n    while True: pass", {"tool_timeout"}, "ended before"),
        ("python_tests", "run_tests", "code", BOMB, {"tool_error", "tool_timeout"}, ""),
    ],
)  # fmt: skip
def test_what_a_tool_runs_harms_its_own_call_alone(stage, environment, name, argument, code, allowed, text):
    setting = {"limits": LIMITS | {"disk_mb": 4}}
    if environment == "python_tests":
        setting |= {"entry_point": "f", "public_tests": ["assert f() == 1"]}
    harmless = {"python": "40 + 2", "run": "echo 42", "run_tests": "def f(): return 1"}[name]
    scripts = {
        "bad": [call(name, **{argument: code}), call(name, **{argument: harmless}), "end"],
        "good": [call(name, **{argument: harmless}), "end"],
    }
    rows = stage([item("bad", environment, setting=setting), item("good", environment, setting=setting)], scripts).rows()
    bad, good = sorted(rows, key=lambda row: row["prompt_id"] != content_id("prompt", "bad"))
    assert statuses(bad)[0] in allowed, bad["turns"]
    assert text in bad["turns"][1]["content"]
    # The same tool works again in the same episode, and worked for the other all along.
    assert statuses(bad)[1:] == statuses(good) == ["ok"], bad["turns"]
    assert bad["turns"][3]["content"] == good["turns"][1]["content"]
    assert [(row["failure_class"], row["env_retries"], row["response_text"]) for row in rows] == [(None, 0, "end")] * 2


def killing(stage, times, text):
    """A reply that first kills whatever keeps the episode's sandbox, so many times."""
    killed: set[int] = set()

    def fresh():
        """Those not killed yet: one that was may be listed until it is collected."""
        return set(stage[0].supervisors()) - killed

    def reply(request):
        del request
        if len(killed) < times:
            assert eventually(lambda: len(fresh()) == 1)
            [supervisor] = fresh()
            killed.add(supervisor)
            os.kill(supervisor, signal.SIGKILL)
            assert eventually(lambda: not _alive(supervisor))
        return text

    return reply


@pytest.mark.parametrize(("times", "retries", "failure"), [(1, 1, None), (2, 2, None), (3, 2, "env_error")])
def test_an_episode_whose_sandbox_is_killed_begins_again_with_the_same_seeds_and_at_last_is_declared(stage, times, retries, failure):
    held = []
    script = [call("python", code="import random; x = random.random()"), killing(held, times, call("python", code="x")), "end"]
    held.append(stage([item("task")], {"task": script}))
    [row] = held[0].rows()
    assert (row["failure_class"], row["env_retries"]) == (failure, retries)
    seeds = [request.seed for request in held[0].engine.requests]
    assert seeds[:2] * retries == seeds[: 2 * retries]
    if failure is None:
        [undisturbed] = stage([item("task")], {"task": [script[0], call("python", code="x"), "end"]}).rows()
        assert [t["content"] for t in row["turns"]] == [t["content"] for t in undisturbed["turns"]]
        assert statuses(row) == ["ok", "ok"]
    else:
        assert (row["response_text"], row["response_token_ids"], row["finish_reason"]) == (None, None, "error")
        assert statuses(row) == ["ok", "env_error"]
        assert "supervisor was killed" in json.loads(row["raw"])["reason"]
        assert json.loads(row["environment"])["environment"] == "python_tool@1"


def test_a_sandbox_killed_in_the_middle_of_a_call_is_the_environments_failure(stage):
    made = stage([item("task")], {"task": [call("python", code="import time; time.sleep(0.8); 7"), "end"]})

    def kill():
        if eventually(lambda: len(made.supervisors()) == 1 and len(made.engine.requests) == 1):
            time.sleep(0.3)
            os.kill(made.supervisors()[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    [row] = made.rows()
    killer.join()
    assert (row["failure_class"], row["env_retries"], row["turns"][1]["content"]) == (None, 1, "7")


def test_a_caller_that_goes_away_in_mid_call_leaves_nothing(stage):
    made = stage([item("slow"), item("quick")], {"slow": [call("python", code="import time; time.sleep(1.5)"), "end"], "quick": ["end"]})
    episodes = made.episodes()
    assert next(episodes).rows[0]["response_text"] == "end"
    assert eventually(lambda: len(made.supervisors()) == 1)
    episodes.close()
    assert eventually(lambda: made.supervisors() == [])
    assert made.engine.inside == 0


def test_a_dead_engine_ends_the_loop_and_leaves_no_sandbox(stage):
    def die(request):
        raise EngineDeadError("gone")

    made = stage([item("task")], {"task": [call("python", code="import subprocess; _ = subprocess.Popen(['sleep', '300'])"), die]})
    with pytest.raises(EngineDeadError, match="gone"):
        made.rows()
    assert eventually(lambda: made.supervisors() == [])


QUICK = [call("python", code="x = 6"), call("python", code="x * 7"), "Answer: 42"]
SLOW = [call("python", code="import time; time.sleep(0.7)"), call("python", code="x = 6"), call("python", code="x * 7"), "Answer: 42"]


def lay(folder):
    scripts = {f"w{k}": SLOW if k % 2 else QUICK for k in range(8)}
    settings = SETTINGS | {"scripts": scripts, "in_flight": 2}
    limits = {"limits": {"call_seconds": 60.0}}
    return lay_run(folder / "run=r1", "agent", "scripted", {"s0": [item(word, setting=limits) for word in scripts]}, AGENT_SHARD, settings)


def start(run, worker_id):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.agent_worker", run.store.uri, worker_id], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )


def timeless(rows):
    """Rows without how long each turn took."""
    return [{**row, "turn_seconds": None} for row in rows]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_that_is_ended_in_mid_episode_leaves_nothing_half_and_the_next_one_completes_the_same_rows(tmp_path, sandbox, number):
    run = lay(tmp_path / "a")
    first = start(run, "first")
    assert eventually(lambda: run.store.list("out/s0/1"), 120), first.poll()
    below = descendants(first.pid)
    first.send_signal(number)
    _, log = first.communicate(timeout=120)
    assert first.returncode == (4 if number == signal.SIGTERM else -number), log
    if number == signal.SIGTERM:
        assert run.beat("s0", 1).state == "released"
    assert eventually(lambda: not [pid for pid in below if _alive(pid)])
    assert run.committed() == set()
    second = start(run, "second")
    _, log = second.communicate(timeout=300)
    assert second.returncode == 0, log
    assert "part_adopted" in log
    rows = timeless(committed_rows(run))
    assert [(row["failure_class"], row["response_text"], row["env_retries"]) for row in rows] == [(None, "Answer: 42", 0)] * 8
    assert [len(row["turns"]) for row in rows].count(7) == 4
    assert rows == _undisturbed(tmp_path)


def _undisturbed(folder):
    run = lay(folder / "undisturbed")
    process = start(run, "only")
    _, log = process.communicate(timeout=300)
    assert process.returncode == 0, log
    return timeless(committed_rows(run))


HIDDEN = "hidden_expectation_314159"
LOOK = """
import os
seen = [open('tests.json').read(), open('solution.py').read(), str(sorted(os.environ.items())), str(os.listdir('.')), str(os.listdir('/'))]
for pid in os.listdir('/proc'):
    if pid.isdigit():
        for part in ('cmdline', 'environ'):
            try: seen.append(open(f'/proc/{pid}/{part}', 'rb').read().decode('latin-1'))
            except OSError: pass
for folder, folders, names in os.walk('/'):
    if folder == '/':
        folders[:] = [name for name in folders if name not in ('proc', 'sys', 'usr', 'lib', 'lib64', 'opt', 'bin', 'sbin', 'dev')]
    for name in names:
        try: seen.append(open(os.path.join(folder, name), errors='replace').read(1 << 16))
        except OSError: pass
word = 'hidden_' + 'expectation'
print('visible public:', any('assert f(1)' in text for text in seen), 'visible hidden:', any(word + '_' in text for text in seen))
def f(x): return x + 1
"""


def test_hidden_tests_are_nowhere_in_the_run_the_worker_or_the_sandbox(stage, tmp_path):
    contract = {"entry_point": "f", "public_tests": ["assert f(1) == 2"], "hidden_tests": [f"assert f(41) == 42, '{HIDDEN}'"]}
    public = {name: value for name, value in contract.items() if name != "hidden_tests"} | {"limits": {"call_seconds": 60.0}}
    made = stage(
        [item("task", "python_tests", setting=public)],
        {"task": [call("run_tests", code=LOOK), call("submit", code="def f(x): return x + 1")]},
    )
    [row] = made.rows()
    assert "visible public: True visible hidden: False" in row["turns"][1]["content"]
    assert HIDDEN not in json.dumps(row, default=str)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if HIDDEN.encode() in path.read_bytes()]
    texts = [json.dumps(pq.read_table(path).to_pylist(), default=str) for path in files if path.suffix == ".parquet"]
    assert texts
    assert not any(HIDDEN in text for text in texts)
    assert any("assert f(1) == 2" in text for text in texts)


def test_a_planner_that_puts_hidden_tests_into_a_setting_is_refused_before_anything_runs(stage):
    setting = {"entry_point": "f", "public_tests": ["assert f(1) == 2"], "hidden_tests": [HIDDEN]}
    made = stage([item("task", "python_tests", setting=setting)], {"task": ["never asked"]})
    [row] = made.rows()
    assert (row["failure_class"], row["turns"]) == ("prompt_invalid", None)
    assert HIDDEN not in json.dumps(row, default=str)
    assert made.engine.requests == []
