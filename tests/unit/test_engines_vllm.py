"""What of the vLLM engine runs without vLLM: reading its outputs, sharing GPUs, ending its processes. The engine itself: tests/vllm."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_workers.engines.devices import INDEX, VISIBLE, claim_devices, count_devices, share_of
from gpu_workers.engines.engine import Request, Sampling
from gpu_workers.engines.vllm import VllmEngine, VllmOptions
from gpu_workers.engines.vllm_outputs import generation_of, tempered, versions_of
from gpu_workers.errors import RefusedRunError
from gpu_workers.loop import LoopThread


@dataclass
class Step:
    """One output of vLLM, as far as it is read."""

    token_ids: list[int]
    text: str = ""
    logprobs: Any = None
    finish_reason: str | None = None
    stop_reason: Any = None
    weight_versions: Any = None


@dataclass
class Output:
    """A request's output."""

    outputs: list[Step]
    num_cached_tokens: int = 0
    prompt_logprobs: Any = field(default=None)


def row(**by_id):
    return {int(name[1:]): SimpleNamespace(logprob=value) for name, value in by_id.items()}


def made(*steps):
    return generation_of([Output([step], 128) for step in steps], (7, 8), "prompt", 1.5)


def test_steps_are_joined_and_the_drawn_token_is_looked_up_by_its_id():
    spans = [SimpleNamespace(version="2", start=0, end=1), SimpleNamespace(version="3", start=1, end=3)]
    found = made(
        Step([4], "a", [row(t9=-0.1, t4=-2.0)]),  # the most probable token stands first, and was not drawn
        Step([5, 1], "bc", [row(t5=-1.0), row(t1=1e-7)], "stop", "END", spans),
    )
    assert (found.text, found.token_ids, found.logprobs) == ("abc", (4, 5, 1), (-2.0, -1.0, 0.0))
    assert (found.weight_versions, found.finish_reason, found.raw) == ((2, 3, 3), "stop", {"stop_reason": "END"})
    assert (found.prompt_tokens, found.cached_tokens, found.completion_tokens, found.seconds) == (2, 128, 3, 1.5)


@pytest.mark.parametrize(("reason", "failure", "retryable"), [
    ("abort", "aborted", True), ("error", "engine_error", True), ("repetition", "engine_error", False), (None, "engine_error", False),
])  # fmt: skip
def test_a_draw_that_did_not_end_by_itself_is_no_sample(reason, failure, retryable):
    found = made(Step([4], "a", [row(t4=-1.0)], reason))
    assert (found.text, found.failure_class, found.retryable) == (None, failure, retryable)


@pytest.mark.parametrize("value", [math.nan, -math.inf, math.inf, 0.5])
def test_figures_that_are_none_make_a_draw_malformed(value):
    assert made(Step([4], "a", [row(t4=value)], "length")).failure_class == "malformed"


def test_versions_are_of_every_token_or_not_told():
    spans = [SimpleNamespace(version="1", start=0, end=2)]
    assert versions_of(spans, 2) == (1, 1)
    assert versions_of(spans, 3) is None
    assert versions_of(None, 1) is None
    assert made(Step([4], "a", None, "stop")).logprobs is None


def test_tempered_is_the_softmax_at_another_temperature():
    # Two tokens of logits 0 and 1: p = (1, e) / (1 + e). At T = 0.5 the logits double: p = (1, e^2) / (1 + e^2).
    ones = {0: -math.log(1 + math.e), 1: 1 - math.log(1 + math.e)}
    assert tempered(ones, 1, 0.5) == pytest.approx(2 - math.log(1 + math.e**2))
    assert tempered(ones, 0, 1.0) == pytest.approx(ones[0])


def test_workers_of_one_machine_share_its_gpus():
    assert share_of(["0", "1", "2", "3"], 1, 2) == ["2", "3"]
    assert share_of(["GPU-a", "GPU-b"], 1, 1) == ["GPU-b"]
    with pytest.raises(RefusedRunError, match="Start 1 workers"):
        share_of(["0", "1"], 1, 2)


def test_devices_are_claimed_only_by_workers_of_a_launcher(monkeypatch, tmp_path):
    monkeypatch.setenv(VISIBLE, "4,5")
    monkeypatch.delenv(INDEX, raising=False)
    claim_devices(1)
    assert os.environ[VISIBLE] == "4,5"
    monkeypatch.setenv(INDEX, "1")
    claim_devices(1)
    assert os.environ[VISIBLE] == "5"
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    assert count_devices(tmp_path) == 2


def test_an_environment_without_vllm_refuses_the_run_and_says_what_to_build(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    loop = LoopThread()
    with pytest.raises(RefusedRunError, match="make setup-vllm"):
        loop.call(VllmEngine(VllmOptions(), str(tmp_path)).open())
    with pytest.raises(RefusedRunError, match=r"no config\.json"):
        loop.call(VllmEngine(VllmOptions(), str(tmp_path / "none")).open())
    cold = loop.call(VllmEngine(VllmOptions(), str(tmp_path)).generate(Request("k", 1, Sampling(temperature=0.001), prompt_token_ids=(1,))))
    assert cold.failure_class == "prompt_invalid"
    loop.close()


WORKER = """
import subprocess, sys
from gpu_workers.engines.reaper import watch_this_process
watch_this_process()
core = subprocess.Popen([sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(300)'])"], start_new_session=True)
print(core.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the reaper needs descriptors of processes (Linux)")
def test_what_a_killed_worker_leaves_running_is_ended():
    from gpu_workers.engines.reaper import descendants

    root = Path(__file__).resolve().parents[2]
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(root)}
    )
    core = int(worker.stdout.readline())
    deadline = time.monotonic() + 60
    while len(descendants(worker.pid)) < 3 and time.monotonic() < deadline:  # reaper, core and the core's own child
        time.sleep(0.05)
    family = descendants(worker.pid)
    assert {core} < family
    time.sleep(1.5)  # the reaper looks twice a second
    worker.kill()
    worker.communicate()
    while (left := [pid for pid in family if _runs(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def _runs(pid):
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
