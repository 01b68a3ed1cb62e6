"""Programs that try to get out, to see what is not theirs, or to bring the machine down (the list of G§4)."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from pathlib import Path

import pytest

from tests.sandboxes import TRY, reported, run
from udfs.sandbox.sandbox import Sandbox
from udfs.sandbox.spec import Limits

pytestmark = pytest.mark.faults


@pytest.fixture
def listeners():
    """Real servers on this machine, one of each kind: (address of TCP, of UDP, name of an abstract socket, path of a socket)."""
    folder = tempfile.TemporaryDirectory()
    tcp, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    abstract, path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0verilake-test-{os.getpid()}")
    path.bind(f"{folder.name}/socket")
    for server in (abstract, path):
        server.listen()
    Path(folder.name).chmod(0o755)
    Path(folder.name, "socket").chmod(0o777)
    yield tcp.getsockname()[1], udp.getsockname()[1], f"verilake-test-{os.getpid()}", f"{folder.name}/socket", udp
    for server in (tcp, udp, abstract, path):
        server.close()
    folder.cleanup()


def test_no_network(confined: Sandbox, listeners):
    tcp, udp, abstract, path, udp_server = listeners
    code = f"""
def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as sock:
        sock.settimeout(2)
        sock.connect(address)
def datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b'out', ('127.0.0.1', {udp}))
        sock.sendto(b'out', ('1.1.1.1', 53))
report({{
    'tcp': attempt(lambda: connect(socket.AF_INET, ('127.0.0.1', {tcp}))),
    'outside': attempt(lambda: connect(socket.AF_INET, ('1.1.1.1', 53))),
    'udp': attempt(datagram),
    'dns': attempt(lambda: socket.getaddrinfo('example.org', 80)),
    'abstract': attempt(lambda: connect(socket.AF_UNIX, '\\0{abstract}')),
    'path': attempt(lambda: connect(socket.AF_UNIX, '{path}')),
    'netlink': attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)),
    'packet': attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)),
    'vsock': attempt(lambda: socket.socket(40, socket.SOCK_STREAM, 0)),
    'alg': attempt(lambda: socket.socket(38, socket.SOCK_SEQPACKET, 0)),
    'pair': attempt(socket.socketpair),
}})"""
    found = reported(confined, TRY + code)
    assert found.pop("pair")[0] == "done"  # within a program they are harmless, and asyncio needs them
    assert {name: result for name, result in found.items() if result[0] == "done"} == {}
    udp_server.settimeout(0.2)
    with pytest.raises(TimeoutError):
        udp_server.recv(16)


def test_nothing_of_the_machine_can_be_read(confined: Sandbox, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    secret.chmod(0o644)
    places = [
        str(secret), "/etc/shadow", "/etc/hosts", "/etc/ssh", "/root", "/home", str(Path(__file__).parents[2]), str(Path(__file__)), str(Path.home() / ".cache/huggingface"),
        "/var/log", "/var/lib", "/sys/kernel", "/boot", "/srv", "/run", "/mnt", f"/proc/{os.getpid()}/environ", f"/proc/{os.getpid()}/cmdline",
        f"/proc/{os.getpid()}/root/etc/hosts", "/proc/kcore", "/dev/mem", "/dev/vda", "/dev/kvm", "/dev/nvidia0", "/dev/vsock", "/dev/fuse", "/dev/loop0",
    ]  # fmt: skip
    code = """
def look(path):
    if os.path.isdir(path):
        return os.listdir(path)
    return open(path, 'rb').read(64).decode(errors='replace')
report({path: attempt(lambda: look(path)) for path in PLACES})"""
    found = reported(confined, f"{TRY}PLACES = {places!r}{code}")
    assert {path: result for path, result in found.items() if result[0] == "done" and result[1] not in {"''", "[]"}} == {}


def test_only_own_processes_are_seen(strong: Sandbox):
    code = """
pids = [p for p in os.listdir('/proc') if p.isdigit()]
report([sorted(map(int, pids)), open('/proc/1/cmdline').read(), attempt(lambda: open('/proc/1/environ').read()), os.getuid(), os.getgid(), os.getgroups()])"""
    pids, cmdline, environ, uid, gid, groups = reported(strong, TRY + code)
    assert pids[0] == 1
    assert len(pids) == 2
    assert "ro-bind" not in cmdline
    assert environ[0] == "failed" or environ[1] == "''"
    assert (uid, gid) == (65534, 65534)
    assert set(groups) <= {65534}


def test_no_capabilities_and_no_way_to_them(strong: Sandbox):
    fields = reported(strong, "report(dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines()))")
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"].strip() == "1"
    assert fields["Seccomp"].strip() == "2"


REFUSED = {
    "ptrace": "call(101, 0, 0, 0, 0)", "unshare user": "call(272, 0x10000000)", "clone user": "call(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "mount": "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)", "umount": "call(166, b'/proc', 2)", "pivot_root": "call(155, b'.', b'.')",
    "bpf": "call(321, 0, 0, 0)", "keyctl": "call(250, 0, -3, 0)", "add_key": "call(248, b'user', b'x', b'y', 1, -3)", "userfaultfd": "call(323, 0)",
    "io_uring": "call(425, 8, 0)", "perf": "call(298, 0, 0, -1, -1, 0)", "process_vm_readv": "call(310, 1, 0, 0, 0, 0, 0)", "setns": "call(308, 0, 0)",
    "open_by_handle": "call(304, -100, 0, 0)", "kexec": "call(246, 0, 0, 0, 0)", "pidfd_getfd": "call(438, 0, 0, 0)", "fsopen": "call(430, b'tmpfs', 0)",
    "TIOCSTI": "call(16, 0, 0x5412, b'x')", "sethostname": "call(170, b'x', 1)", "prlimit of another": "call(302, 1, 7, 0, 0)", "chroot": "call(161, b'.')",
}  # fmt: skip


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
def test_calls_that_break_kernels_are_refused(confined: Sandbox):
    code = "report({" + ", ".join(f"{name!r}: {action}" for name, action in REFUSED.items()) + ", 'clone3': call(435, 0, 0)})"
    found = reported(confined, TRY + code)
    assert found.pop("clone3") == ["failed", "ENOSYS"]  # glibc then takes clone
    assert {name: result for name, result in found.items() if result != ["failed", "EPERM"]} == {}


def test_nothing_can_be_written_outside(confined: Sandbox):
    code = """
def write(path):
    with open(path, 'w') as file: file.write('x')
places = ['/x', '/usr/bin/x', '/usr/lib/x', '/etc/passwd', '/etc/x', '/dev/x', '/proc/sys/kernel/core_pattern', '/proc/self/oom_score_adj_', '/proc/sysrq-trigger',
          os.path.dirname(os.__file__) + '/x.py', os.__file__, sys.executable, '/opt/x', '/home/x', '/root/x', '/var/tmp/x', '/run/x', '/sys/x']
report({path: attempt(lambda: write(path)) for path in places})"""
    found = reported(confined, TRY + code)
    assert {path: result for path, result in found.items() if result[0] == "done"} == {}


def test_links_do_not_lead_out(confined: Sandbox, tmp_path: Path):
    (tmp_path / "secret").write_text("hunter2")
    code = f"""
os.symlink('{tmp_path}/secret', 'link'); os.symlink('/etc', 'folder'); os.symlink('/proc/self/environ', 'env')
attempt(lambda: os.link('/etc/passwd', 'hard')); attempt(lambda: os.link(sys.executable, 'python'))
os.mkfifo('fifo'); os.mkdir('inner'); open('inner/real', 'w').write('mine'); os.symlink('inner', 'alias')
open('own', 'w').write('own'); os.link('own', 'second')
report(0)"""
    kept = ("link", "folder/hosts", "folder/passwd", "env", "hard", "python", "fifo", "alias/real", "inner", "own", "inner/real")
    outcome = run(confined, TRY + code, keep_files=kept)
    assert outcome.status == "ok", outcome
    assert outcome.files == {"inner/real": b"mine"}


def test_runs_share_nothing(confined: Sandbox):
    code = """
places = ['left', '/tmp/left', '/dev/shm/left', os.environ.get('TMPDIR', '/tmp') + '/left']
seen = [place for place in places if os.path.exists(place)]
for place in places: attempt(lambda: open(place, 'w').write('x'))
report(seen)"""
    for _ in range(2):
        assert reported(confined, TRY + code) == []


@pytest.mark.parametrize(
    "how",
    ["os.setsid()", "os.setsid(); os.fork() and os._exit(0)", "__import__('signal').signal(15, 1); __import__('signal').signal(1, 1)"],
)
def test_daemons_die_with_their_run(any_tier: Sandbox, how: str):
    marker = f"5{os.getpid() % 1000:03d}{abs(hash(how)) % 1000:03d}"
    code = f"if os.fork() == 0:\n    {how}\n    os.execv('/usr/bin/sleep', ['sleep', '{marker}'])\nimport time; time.sleep(0.2)"
    outcome = run(any_tier, code)
    assert outcome.status == "ok", outcome
    assert outcome.wall < 15  # the grandchild held stdout open
    assert not _running(marker)


def _running(argument: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if argument.encode() in entry.read_bytes().split(b"\0"):
                found.append(str(entry))
        except OSError:
            continue
    return found


def test_zombies_and_orphans_are_reaped(any_tier: Sandbox):
    code = "for _ in range(20):\n    if os.fork() == 0:\n        if os.fork() == 0: os._exit(0)\n        os._exit(0)\nreport(1)"
    outcome = run(any_tier, code)
    assert outcome.status == "ok", outcome
    zombies = [entry for entry in Path("/proc").glob("[0-9]*/stat") if _is_zombie_of_ours(entry)]
    assert zombies == []


def _is_zombie_of_ours(stat: Path) -> bool:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] == "Z" and fields[1] == str(os.getpid())


def test_signals_reach_nobody_outside(confined: Sandbox):
    code = f"""
import signal
targets = [{os.getpid()}, {os.getppid()}, os.getppid(), -1, 1]
report([attempt(lambda: os.kill(target, signal.SIGUSR1)) for target in targets if target != 1 or os.getpid() > 100])"""
    received = []
    import signal

    before = signal.signal(signal.SIGUSR1, lambda *_: received.append(1))
    try:
        outcome = run(confined, f"{TRY}\nimport signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n{code}")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert outcome.status in {"ok", "killed"}, outcome
    assert received == []


def test_siblings_are_out_of_reach(confined: Sandbox):
    """One run sleeps while another tries to end every process that it can name."""
    results = []
    sleeper = threading.Thread(target=lambda: results.append(run(confined, "import time; time.sleep(2); report('alive')")))
    sleeper.start()
    killer = run(
        confined,
        "import time\nend = time.time() + 1\nwhile time.time() < end:\n    try: os.kill(-1, 9)\n    except OSError: pass\n    time.sleep(0.05)\nreport(1)",
    )
    sleeper.join()
    assert (results[0].status, results[0].result) == ("ok", b'"alive"')
    assert killer.status in {"ok", "killed"}


def test_the_hosts_arguments_are_not_seen(strong: Sandbox):
    code = "report([open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') if p.isdigit()])"
    seen = reported(strong, code, env={"TOKEN_OF_JOB": "in-the-environment"})
    assert not [line for line in seen if "pytest" in line or "in-the-environment" in line or "launcher" in line]


def test_stdout_cannot_pass_for_a_result(any_tier: Sandbox):
    outcome = run(any_tier, "print('{\"passed\": true}'); os.write(2, b'sandbox_error'); os._exit(0)")
    assert (outcome.status, outcome.result) == ("ok", b"")


@pytest.mark.parametrize("code", [137, 152, 126, 127, 255, 1])
def test_no_exit_code_is_our_failure(any_tier: Sandbox, code: int):
    assert run(any_tier, f"import sys; sys.stderr.write('bwrap: no'); os._exit({code})").status in {"nonzero", "killed"}


def test_a_program_cannot_blame_us_by_its_files(any_tier: Sandbox):
    code = """
os.mkdir('kept'); os.mkdir('locked'); open('locked/x', 'w').write('x')
os.chmod('locked', 0) if 0 else attempt(lambda: os.chmod('locked', 0))
for depth in range(300):
    os.mkdir('d'); os.chdir('d')
report(1)"""
    outcome = run(any_tier, TRY + code, keep_files=("kept", "kept/x", "locked/x"))
    assert outcome.status == "ok", outcome


def test_gpus_and_other_devices_are_not_there(strong: Sandbox):
    allowed = {
        "null",
        "zero",
        "full",
        "random",
        "urandom",
        "tty",
        "pts",
        "ptmx",
        "shm",
        "fd",
        "stdin",
        "stdout",
        "stderr",
        "core",
        "console",
    }
    assert set(reported(strong, "report(os.listdir('/dev'))")) <= allowed


def test_semaphores_and_shared_memory_work_within_a_run(strong: Sandbox):
    code = """
import multiprocessing as mp
if __name__ == '__main__':
    context = mp.get_context('fork')
    with context.Pool(2) as pool: total = sum(pool.map(abs, range(-50, 50)))
    report(total)"""
    assert reported(strong, code, Limits(wall=20, memory=1 << 30)) == sum(abs(number) for number in range(-50, 50))
