"""What a run and a session give back: the one word for each ending, output, files, figures."""

from __future__ import annotations

import os
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.sandboxes import of_tier, reported, run
from udfs.sandbox import process
from udfs.sandbox.sandbox import Sandbox
from udfs.sandbox.spec import ISOLATED, PYTHON, Job, Limits

ENDINGS = {
    "ok": ("pass", {}, "ok", 0, None),
    "exit code": ("raise SystemExit(3)", {}, "nonzero", 3, None),
    "exit before anything": ("import os; os._exit(0)", {}, "ok", 0, None),
    "exception": ("1 / 0", {}, "nonzero", 1, None),
    "own signal": ("import os; os.kill(os.getpid(), 11)", {}, "killed", None, 11),
    "abort": ("import os; os.abort()", {}, "killed", None, 6),
    "sleep": ("import time; time.sleep(60)", {"wall": 0.4}, "timeout_wall", None, 9),
    "stopped": ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", {"wall": 0.5}, "timeout_wall", None, 9),
    "SIGTERM ignored": ("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)", {"wall": 0.4}, "timeout_wall", None, 9),
    "spin": ("while True: pass", {"cpu": 1.0, "wall": 60.0}, "timeout_cpu", None, 24),
    "flood": ("import sys\nwhile True: sys.stdout.write('x' * 4096 + chr(10))", {"output": 10_000}, "output_limit", None, 9),
    "flood without a newline": ("import os\nwhile True: os.write(2, b'x' * 65536)", {"output": 10_000}, "output_limit", None, 9),
    "flood of both": (
        "import os\nwhile True: os.write(1, b'a' * 900); os.write(2, b'b' * 900)",
        {"output": 10_000},
        "output_limit",
        None,
        9,
    ),
    "flood of the result": ("import os\nwhile True: os.write(3, b'x' * 4096)", {"result": 10_000}, "output_limit", None, 9),
}


@pytest.fixture(params=["A", "B", "C", "D"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return of_tier(request.param)


@pytest.mark.parametrize("name", ENDINGS)
def test_endings(sandbox: Sandbox, name: str):
    code, limits, status, returncode, signal = ENDINGS[name]
    outcome = sandbox.run(Job((*ISOLATED, "-c", code), limits=Limits(**limits), results=True))
    assert (outcome.status, outcome.returncode, outcome.signal, outcome.tier) == (status, returncode, signal, sandbox.tier), outcome
    if "output" in limits:
        assert outcome.truncated
        assert len(outcome.stdout) + len(outcome.stderr) == limits["output"]
    if "wall" in limits and status == "timeout_wall":
        assert limits["wall"] <= outcome.wall < limits["wall"] + 10


def test_a_stack_that_never_ends_is_the_programs_end(sandbox: Sandbox):
    code = "import sys; sys.setrecursionlimit(10**9)\ndef f(x): return sorted([x], key=f)\nf(0)"
    assert run(sandbox, code, Limits(memory=128 << 20)).status in {
        "killed",
        "nonzero",
        "oom",
    }  # a segmentation fault, or no memory: never ours


@pytest.mark.parametrize("tier", ["B", "C"])
def test_time_is_bounded_where_its_signal_is_ignored(tier: str):
    code = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    outcome = run(of_tier(tier), code, Limits(cpu=1.0, wall=60.0))
    assert (outcome.status, outcome.signal) == ("timeout_cpu", 9)
    assert 1.0 < outcome.cpu < 3.0


def test_output_is_bytes(sandbox: Sandbox):
    everything = bytes(range(256)) * 4
    outcome = run(sandbox, "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4); sys.stderr.buffer.write(b'\\xff\\x00')")
    assert (outcome.status, outcome.stdout, outcome.stderr, outcome.truncated) == ("ok", everything, b"\xff\x00", False)


def test_output_of_exactly_the_limit_is_within_it(sandbox: Sandbox):
    for size, status in ((5000, "ok"), (5001, "output_limit")):
        outcome = run(sandbox, f"import os; os.write(1, b'x' * {size})", Limits(output=5000))
        assert (outcome.status, len(outcome.stdout)) == (status, 5000)


def test_closed_stdout_is_no_hang(sandbox: Sandbox):
    assert reported(sandbox, "os.close(1); os.close(2); report('here')") == "here"


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_stdin(sandbox: Sandbox, size: int):
    content = os.urandom(size)
    code = "import sys, hashlib; report(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    assert reported(sandbox, code, stdin=content) == __import__("hashlib").sha256(content).hexdigest()


def test_stdin_that_nobody_reads_is_no_hang(sandbox: Sandbox):
    assert run(sandbox, "pass", stdin=b"x" * 3_000_000).status == "ok"


def test_files_come_and_go(sandbox: Sandbox):
    files = {"a.txt": b"one", "deep/er/b.bin": bytes(range(256)), "empty": b""}
    code = "open('out', 'wb').write(open('deep/er/b.bin', 'rb').read()); open('deep/new', 'w').write('n'); os.remove('a.txt')"
    outcome = run(sandbox, code, files=files, keep_files=("out", "deep/new", "a.txt", "never", "empty", "deep"))
    assert outcome.files == {"out": bytes(range(256)), "deep/new": b"n", "empty": b""}


def test_kept_files_are_within_the_limit(sandbox: Sandbox):
    code = "for name in 'abc': open(name, 'w').write('x' * 600)"
    assert run(sandbox, code, Limits(result=1000), keep_files=("a", "b", "c")).files == {"a": b"x" * 600}


def test_many_files(sandbox: Sandbox):
    files = {f"d{number % 10}/f{number}": b"%d" % number for number in range(2000)}
    code = "import glob; report(sum(int(open(p).read()) for p in glob.glob('d*/f*')))"
    assert reported(sandbox, code, files=files) == sum(range(2000))


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "a/../../x", "a//b", ".", "./a", "a/", "nul\0", "x" * 256])
def test_names_that_leave_the_folder_are_refused(sandbox: Sandbox, name: str):
    for job in (Job((PYTHON,), files={name: b""}), Job((PYTHON,), keep_files=(name,))):
        with pytest.raises(ValueError, match="relative path"):
            sandbox.run(job)


@pytest.mark.parametrize(
    "job",
    [
        Job(()), Job(("a\0b",)), Job((PYTHON, "x" * 131_072)), Job((PYTHON,), env={"A=B": "c"}), Job((PYTHON,), env={"": "c"}),
        Job((PYTHON,), limits=Limits(wall=0)), Job((PYTHON,), limits=Limits(pids=-1)),
    ],
)  # fmt: skip
def test_jobs_that_cannot_be_are_refused(job: Job):
    with pytest.raises(ValueError):  # noqa: PT011 - three messages, all of one check
        process.check(job)


def test_a_command_that_is_not_there_is_the_askers_affair(sandbox: Sandbox):
    outcome = sandbox.run(Job(("no-such-command",)))
    assert outcome.status == "nonzero"
    assert b"no-such-command" in outcome.stderr


def test_environment_is_built_from_nothing(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    found = reported(sandbox, "report(dict(os.environ))", env={"MINE": "1", "RESULT_FD": "99"})
    assert found["MINE"] == "1"
    assert found["RESULT_FD"] == "3"  # ours comes last
    assert "SECRET_TOKEN" not in found
    assert set(found) <= {
        "PATH",
        "HOME",
        "LANG",
        "TZ",
        "PYTHONHASHSEED",
        "MINE",
        "RESULT_FD",
        "LD_LIBRARY_PATH",
        "PWD",
        "TMPDIR",
        "LC_CTYPE",
    }


def test_sets_print_in_one_order(sandbox: Sandbox):
    code = "print({'alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'})"
    assert len({run(sandbox, code).stdout for _ in range(4)}) == 1


def test_only_the_standard_library_can_be_imported(sandbox: Sandbox):
    code = "import sys, importlib.util as u; report([[n for n in ('numpy', 'pyarrow', 'udfs', 'pip') if u.find_spec(n)], sys.path])"
    found, path = reported(sandbox, code)
    assert found == []
    assert not [part for part in path if "packages" in part or part in {"", "."}]


@pytest.mark.parametrize("tier", ["A", "B"])
def test_paths_that_were_asked_for_can_be_read_and_nothing_else(tier: str):
    of_tier(tier)
    root = Path(__file__).resolve().parents[2]
    if str(root).startswith(("/tmp/", "/dev/")):  # noqa: S108 - where a program has folders of its own
        pytest.skip(f"this checkout lies in {root}, which no sandbox shows")
    opened = Sandbox.probe(tiers=(tier,), ro_paths=(str(root / "schemas"),))
    code = f"""
import sys; sys.path.insert(0, {str(root / "schemas")!r})
import ids
def write(): open({str(root / "schemas/new.py")!r}, 'w')
def read(): open({str(root / "README.md")!r})
failed = []
for action in (write, read):
    try: action()
    except OSError: failed.append(action.__name__)
report([ids.__file__, os.listdir({str(root)!r}), failed])"""
    assert reported(opened, code) == [str(root / "schemas/ids.py"), ["schemas"], ["write", "read"]]


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/no/such", "and there"), ("usr", "absolute"), ("/tmp", "of its own"), ("/proc/self", "of its own")],  # noqa: S108
)
def test_paths_that_cannot_be_shown_are_refused(path: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        Sandbox.probe(ro_paths=(path,))


def test_figures(sandbox: Sandbox):
    spent = run(sandbox, "x = bytearray(80 << 20)\nimport time\nwhile time.process_time() < 0.5: pass")
    assert 0.5 <= spent.cpu < 2.0
    assert 80 << 20 < spent.max_rss < 160 << 20
    idle = run(sandbox, "import time; time.sleep(0.3)")
    assert idle.wall >= 0.3
    assert idle.cpu < 0.3
    assert 4 << 20 < idle.max_rss < 60 << 20


def test_figures_of_a_program_that_was_killed(sandbox: Sandbox):
    killed = run(sandbox, "x = bytearray(80 << 20)\nwhile True: pass", Limits(wall=1.0))
    assert killed.status == "timeout_wall"
    assert killed.max_rss > 80 << 20
    assert killed.cpu > 0.05


def test_many_threads_at_once(sandbox: Sandbox):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: reported(sandbox, f"report({number})"), range(16)))
    assert found == list(range(16))


ECHO = """
import os, struct, sys, time
requests, results = os.fdopen(int(os.environ["REQUEST_FD"]), "rb"), os.fdopen(int(os.environ["RESULT_FD"]), "wb", 0)
count = 0
while head := requests.read(4):
    body = requests.read(struct.unpack(">I", head)[0])
    count += 1
    print("call", count, flush=True)
    if body == b"exit": os._exit(5)
    if body == b"leave": os._exit(0)
    if body == b"hang": time.sleep(60)
    if body == b"flood": os.write(1, b"x" * 10_000_000)
    if body == b"huge": results.write(struct.pack(">I", 1 << 30))
    if body == b"half": results.write(b"\\0\\0"); os._exit(0)
    if body == b"last": results.write(struct.pack(">I", 3) + b"bye"); os._exit(0)
    results.write(struct.pack(">I", len(body)) + body)
"""


def _echo(sandbox: Sandbox, **limits: object):
    limits = {"wall": 60.0, "output": 10_000, **limits}
    return sandbox.open(Job((*ISOLATED, "echo.py"), files={"echo.py": ECHO.encode()}, limits=Limits(**limits), results=True, requests=True))


def test_a_session_keeps_its_state(sandbox: Sandbox):
    with _echo(sandbox) as session:
        for number, body in enumerate([b"", b"one", b"x" * 900_000, bytes(range(256))], 1):
            answer = session.call(body, 20)
            assert (answer.status, answer.payload, answer.stdout) == ("ok", body, b"call %d\n" % number)
    assert session.close().status == "killed"


@pytest.mark.parametrize(
    ("body", "status", "final"),
    [
        (b"exit", "nonzero", "nonzero"), (b"leave", "no_answer", "ok"), (b"hang", "timeout_wall", "timeout_wall"), (b"flood", "output_limit", "output_limit"),
        (b"huge", "output_limit", "output_limit"), (b"half", "no_answer", "ok"),
    ],
)  # fmt: skip
def test_what_is_no_answer_ends_the_session(sandbox: Sandbox, body: bytes, status: str, final: str):
    with _echo(sandbox) as session:
        assert session.call(b"first", 20).status == "ok"
        answer = session.call(body, 1.0 if body == b"hang" else 20)
        assert (answer.status, answer.payload) == (status, b"")
        assert session.call(b"again", 20).status == status
        assert session.close().status == final


def test_an_answer_that_comes_with_the_end_is_an_answer(sandbox: Sandbox):
    with _echo(sandbox) as session:
        assert (session.call(b"last", 20).payload, session.call(b"more", 20).status) == (b"bye", "no_answer")


def test_a_session_outlives_the_thread_that_opened_it(sandbox: Sandbox):
    opened = []
    thread = threading.Thread(target=lambda: opened.append(_echo(sandbox)))
    thread.start()
    thread.join()
    time.sleep(0.1)
    with opened[0] as session:
        assert session.call(b"still", 20).payload == b"still"


def test_a_request_that_nobody_reads_times_out(sandbox: Sandbox):
    job = Job((*ISOLATED, "-c", "import time; time.sleep(60)"), results=True, requests=True)
    with sandbox.open(job) as session:
        assert session.call(b"x" * 5_000_000, 0.5).status == "timeout_wall"


def test_a_frame_of_exactly_the_limit_is_within_it(sandbox: Sandbox):
    for size, status in ((1000, "ok"), (1001, "output_limit")):
        with _echo(sandbox, result=1000) as session:
            assert session.call(b"x" * size, 20).status == status


def test_sessions_need_both_descriptors(sandbox: Sandbox):
    with pytest.raises(ValueError, match="requests=True"):
        sandbox.open(Job((PYTHON,)))


def test_frames_are_what_struct_says():
    assert struct.pack(">I", 258) == b"\0\0\1\2"  # the documented order of bytes
