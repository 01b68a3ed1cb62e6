"""Nothing is left of a run: no process, no zombie, no mount, no control group, no file; also where somebody is killed meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.sandboxes import descendants, of_tier, reported, run
from udfs.sandbox.cgroup import PREFIX
from udfs.sandbox.sandbox import Sandbox, SandboxUnavailableError, default_sandbox
from udfs.sandbox.spec import ISOLATED, Job, Limits

pytestmark = pytest.mark.faults
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["A", "B", "C", "D"])
def any_tier(request: pytest.FixtureRequest) -> Sandbox:
    return of_tier(request.param)


def eventually(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return holds()


def named(argument: str) -> set[int]:
    """Processes that carry this argument, wherever they are."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if argument.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def groups_of(pids: set[int]) -> list[Path]:
    names = {f"{PREFIX}{pid}" for pid in pids}
    return [Path(folder, name) for folder, folders, _ in os.walk("/sys/fs/cgroup") for name in names & set(folders)]


def settled(sandbox: Sandbox) -> tuple[set[int], str, set[str], int]:
    """The state once the supervisor of the last run, which has given its ending, is gone too."""
    run(sandbox, "pass")
    launcher = sandbox._launcher._started.process.pid
    assert eventually(lambda: descendants(launcher) == set())
    return state()


def boxes() -> set[str]:
    """Temporary folders of launchers, where they lie on a disk."""
    return {path.name for path in Path(tempfile.gettempdir()).glob("verilake-box*")}


def state() -> tuple[set[int], str, set[str], int]:
    """What must be the same before and after: our processes, the mounts, temporary files, descriptors."""
    return descendants(), Path("/proc/self/mountinfo").read_text(), boxes(), len(list(Path("/proc/self/fd").iterdir()))


def all_at_once(sandbox: Sandbox, count: int) -> None:
    before = settled(sandbox)
    programs = {
        "ok": "report(1)", "nonzero": "1/0", "output_limit": "while True: print('x' * 4096)",
        "timeout_wall": "import time\nif os.fork() == 0: os.setsid(); time.sleep(99)\ntime.sleep(99)",
    }  # fmt: skip
    order = [list(programs)[0 if number % 8 else number // 8 % 4] for number in range(count)]

    def one(status: str) -> tuple[str, str]:
        return status, run(sandbox, programs[status], Limits(wall=0.5 if status == "timeout_wall" else 120.0), files={"f": b"x"}).status

    with ThreadPoolExecutor(count) as pool:
        found = list(pool.map(one, order))
    assert [(wanted, got) for wanted, got in found if wanted != got] == []
    assert eventually(lambda: state() == before), (state(), before)


def test_two_hundred_runs_at_once_leave_nothing():
    all_at_once(of_tier("A"), 200)


@pytest.mark.parametrize("tier", ["B", "C", "D"])
def test_runs_at_once_leave_nothing(tier: str):
    all_at_once(of_tier(tier), 40)


@pytest.mark.soak
@pytest.mark.parametrize("tier", ["A", "B", "C"])
def test_five_hundred_runs_at_once_leave_nothing(tier: str):
    all_at_once(of_tier(tier), 500)


KILLED = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from udfs.sandbox.sandbox import Sandbox
from udfs.sandbox.spec import Job, Limits
sandbox = Sandbox.probe(tiers=(sys.argv[2],))
command = ("/bin/sh", "-c", f"(setsid sleep {sys.argv[3]} &) ; sleep {sys.argv[3]}; :")
for _ in range(4):
    threading.Thread(target=lambda: sandbox.run(Job(command, limits=Limits(wall=float(sys.argv[4])))), daemon=True).start()
time.sleep(600)
"""


def _start(tier: str, marker: str, wall: float = 600.0) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(ROOT), tier, marker, str(wall)])
    assert eventually(lambda: len(named(marker)) >= 9, 60), named(marker)
    return process


def test_a_killed_parent_takes_everything_along(any_tier: Sandbox):
    marker, before = f"60{os.getpid()}", boxes()
    process = _start(any_tier.tier, marker)
    below = descendants(process.pid)
    process.kill()
    process.wait()
    assert eventually(lambda: not named(marker)), named(marker)
    assert eventually(lambda: not {pid for pid in below if Path(f"/proc/{pid}").exists()})
    assert groups_of(below) == []
    assert eventually(lambda: boxes() <= before)


def test_a_killed_launcher_takes_everything_along_and_the_next_run_starts_another(any_tier: Sandbox):
    sandbox = Sandbox.probe(tiers=(any_tier.tier,))
    marker = f"61{os.getpid()}"
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(
            sandbox.run, Job(("/bin/sh", "-c", f"(setsid sleep {marker} &) ; sleep {marker}; :"), limits=Limits(wall=300.0))
        )
        assert eventually(lambda: len(named(marker)) >= 2)
        launcher = sandbox._launcher._started.process.pid
        below = descendants(launcher)
        os.kill(launcher, signal.SIGKILL)
        outcome = future.result(60)
    assert outcome.status in {"sandbox_error", "killed"}
    assert eventually(lambda: not named(marker))
    assert eventually(lambda: not {pid for pid in below if Path(f"/proc/{pid}").exists()})
    assert reported(sandbox, "report('again')") == "again"


def test_a_killed_supervisor_takes_its_run_along(any_tier: Sandbox):
    marker = f"62{os.getpid()}"
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(
            any_tier.run, Job(("/bin/sh", "-c", f"(setsid sleep {marker} &) ; sleep {marker}; :"), limits=Limits(wall=300.0))
        )
        assert eventually(lambda: len(named(marker)) >= 2)
        parent = {pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in descendants()}
        launcher = any_tier._launcher._started.process.pid
        supervisors = [pid for pid, above in parent.items() if above == launcher]
        assert len(supervisors) == 1
        os.kill(supervisors[0], signal.SIGKILL)
        outcome = future.result(60)
    assert (outcome.status, outcome.reason) == ("sandbox_error", "the supervisor was killed")
    assert eventually(lambda: not named(marker))
    assert eventually(lambda: groups_of(set(supervisors)) == [])
    assert reported(any_tier, "report('again')") == "again"


@pytest.mark.soak
def test_a_stopped_parent_does_not_keep_a_run_alive(any_tier: Sandbox):
    marker = f"63{os.getpid()}"
    process = _start(any_tier.tier, marker, 3.0)
    try:
        os.kill(process.pid, signal.SIGSTOP)
        assert eventually(lambda: named(marker) == {process.pid}, 30)
    finally:
        process.kill()
        process.wait()


def _in_child(tier: str, answer: object) -> None:
    answer.send(reported(of_tier(tier), "report('from a forked process')"))


def test_a_forked_process_has_a_launcher_of_its_own(any_tier: Sandbox):
    assert reported(any_tier, "report(1)") == 1
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_in_child, args=(any_tier.tier, theirs))
    child.start()
    assert ours.recv() == "from a forked process"
    child.join(30)
    assert child.exitcode == 0
    assert reported(any_tier, "report(2)") == 2


def test_a_closed_session_leaves_nothing(any_tier: Sandbox):
    before = settled(any_tier)
    for close in (True, False):
        session = any_tier.open(Job(("/usr/bin/sleep", "99"), results=True, requests=True))
        if not close:
            session.call(b"", 0.2)
        session.close()
    assert eventually(lambda: state() == before), (state(), before)


def test_without_bubblewrap_the_next_tier_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    of_tier("C")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Sandbox.probe().tier == "C"
    with pytest.raises(SandboxUnavailableError, match=r"Install bubblewrap.*bubblewrap is not installed"):
        Sandbox.probe(tiers=("B",))


def test_the_weakest_tier_is_refused_unless_it_is_allowed():
    with pytest.raises(SandboxUnavailableError, match="allow tier D by name") as refusal:
        Sandbox.probe(tiers=())
    assert refusal.value.exit_code == 2
    assert Sandbox.probe(tiers=(), allow_weaker=True).tier == "D"


def test_the_default_is_probed_once():
    try:
        assert default_sandbox() is default_sandbox()
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


def test_without_user_namespaces_a_weaker_tier_is_taken():
    """In a user namespace that allows no further one, as in a container without them."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Ur", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here to take away")
    code = "from udfs.sandbox.sandbox import Sandbox; s = Sandbox.probe(allow_weaker=True); print(s.tier)"
    inner = f'echo 0 > /proc/sys/user/max_user_namespaces; exec {sys.executable} -c "{code}"'
    done = subprocess.run(["unshare", "-Ur", "sh", "-c", inner], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.stdout.strip() in {"C", "D"}, done


def test_output_of_a_run_never_waits_for_what_it_started(any_tier: Sandbox):
    begun = time.monotonic()
    outcome = any_tier.run(
        Job((*ISOLATED, "-c", "import subprocess; subprocess.Popen(['/usr/bin/sleep', '99'])"), limits=Limits(wall=60.0))
    )
    assert (outcome.status, time.monotonic() - begun < 30) == ("ok", True)
