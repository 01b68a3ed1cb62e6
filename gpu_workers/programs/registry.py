"""Which engine serves which program. Modules are imported on demand: an environment need only carry the engine it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gpu_workers.engines.options import read_options
from gpu_workers.errors import RefusedRunError
from gpu_workers.programs.program import Clock, Program
from udfs.store.run import HandoffRun

if TYPE_CHECKING:
    from gpu_workers.programs.host import Host

#: Options of the engine on this machine.
Options = Mapping[str, str]


def utc_now() -> datetime:
    """The host's clock; it fills columns that record time and decides nothing."""
    return datetime.now(UTC)


def _extractive(run: HandoffRun, clock: Clock) -> Program:
    from gpu_workers.programs.convert import ConvertProgram
    from udfs import extract

    return ConvertProgram(run.plan, extract.extract, extract.VERSION, clock)


def _replay(run: HandoffRun, clock: Clock) -> Program:
    from gpu_workers.programs.chain import ChainProgram

    return ChainProgram(run, None, clock)


def _chain(run: HandoffRun, host: Host, clock: Clock) -> Program:
    from gpu_workers.programs.chain import ChainProgram

    return ChainProgram(run, host, clock)


def _reader(run: HandoffRun, clock: Clock) -> Program:
    from gpu_workers.programs.rollout import ReaderProgram

    return ReaderProgram.load(run.plan, run.policy_folder(), clock)


def _vllm(run: HandoffRun, options: Options) -> Host:
    from gpu_workers.engines.vllm import VllmEngine, VllmOptions
    from gpu_workers.programs.host import Host

    given = read_options(VllmOptions, "vllm", options)
    held = run.policy_folder()
    model = str(held) if (held / "config.json").is_file() else given.model or str(run.plan.settings.get("model", ""))
    return Host(VllmEngine(given, model, run.plan.policy_version), given, run.plan.lease_seconds)


def _openai(run: HandoffRun, options: Options) -> Host:
    from gpu_workers.engines.openai import OpenAIEngine
    from gpu_workers.engines.openai_wire import OpenAIOptions
    from gpu_workers.programs.host import Host

    named = {name: run.plan.settings[name] for name in ("model",) if name in run.plan.settings}
    given = read_options(OpenAIOptions, "openai", {**named, **options})
    return Host(OpenAIEngine(given), given, run.plan.lease_seconds)


def _rollout(run: HandoffRun, host: Host, clock: Clock) -> Program:
    from gpu_workers.programs.policies import Policies
    from gpu_workers.programs.sampling import RolloutProgram

    return RolloutProgram(run.plan, host, Policies(run), clock)


def _agent(run: HandoffRun, host: Host, clock: Clock) -> Program:
    from gpu_workers.programs.agent import AgentProgram, sandbox_for
    from gpu_workers.programs.policies import Policies

    return AgentProgram(run.plan, host, Policies(run), clock, sandbox_for(run.plan.settings))


def _judge(run: HandoffRun, host: Host, clock: Clock) -> Program:
    from gpu_workers.programs.judge import JudgeProgram

    return JudgeProgram(run.plan, host, clock)


def _logprobs(run: HandoffRun, host: Host, clock: Clock) -> Program:
    from gpu_workers.programs.logprobs import LogprobsProgram

    return LogprobsProgram(run.plan, host, clock)


#: Engines without options, which answer in the thread of the worker's loop.
EMBEDDED: Mapping[tuple[str, str], Callable[[HandoffRun, Clock], Program]] = {
    ("convert", "extractive"): _extractive,
    ("convert", "replay"): _replay,
    ("rollout", "reader"): _reader,
}
#: Engines that draw tokens for any program, with options of the machine.
ENGINES: Mapping[str, Callable[[HandoffRun, Options], Host]] = {"openai": _openai, "vllm": _vllm}
#: Programs over such an engine.
HOSTED: Mapping[str, Callable[[HandoffRun, Host, Clock], Program]] = {
    "convert": _chain,
    "rollout": _rollout,
    "agent": _agent,
    "judge": _judge,
    "logprobs": _logprobs,
}
#: A server's protocol has no way to score given tokens.
UNSERVED = {("logprobs", "openai")}


def build_program(run: HandoffRun, options: Mapping[str, str], clock: Clock = utc_now) -> Program:
    """The program of a run, with its engine loaded.

    Args:
        run: a planned run.
        options: options of the engine that belong to this machine; the embedded engines have none.
        clock: for columns that record time.

    Raises:
        RefusedRunError: this worker lacks the engine, its version, or an option.
    """
    program, engine = run.plan.program, run.plan.engine
    if (program, engine) in EMBEDDED:
        if options:
            raise RefusedRunError.from_options(engine, sorted(options))
        return EMBEDDED[program, engine](run, clock)
    if program not in HOSTED or engine not in ENGINES or (program, engine) in UNSERVED:
        raise RefusedRunError.from_engine(program, engine, served())
    return HOSTED[program](run, ENGINES[engine](run, options), clock)


def served() -> list[str]:
    """Every pair that this worker has, as ``program/engine``."""
    pairs = {*EMBEDDED, *((program, engine) for program in HOSTED for engine in ENGINES)} - UNSERVED
    return sorted(f"{program}/{engine}" for program, engine in pairs)
