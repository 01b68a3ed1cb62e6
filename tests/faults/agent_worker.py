"""A real worker with program ``agent`` over the scripted engine: ``python -m tests.faults.agent_worker RUN WORKER_ID``; its scripts lie in the plan."""

from __future__ import annotations

import sys

from gpu_workers.__main__ import Stop
from gpu_workers.engines.options import EngineOptions
from gpu_workers.log import Log
from gpu_workers.programs.agent import AgentProgram, sandbox_for
from gpu_workers.programs.host import Host
from gpu_workers.programs.policies import Policies
from gpu_workers.programs.registry import utc_now
from gpu_workers.worker import Worker
from tests.scripted_engine import ScriptedEngine
from udfs.store.run import HandoffRun


def main():
    run, worker_id = HandoffRun(sys.argv[1]), sys.argv[2]
    stop = Stop(None)
    settings = run.plan.settings
    host = Host(ScriptedEngine(settings["scripts"]), EngineOptions(in_flight=settings["in_flight"]), run.plan.lease_seconds)
    program = AgentProgram(run.plan, host, Policies(run), utc_now, sandbox_for(settings))
    try:
        return Worker(run, program, worker_id, Log(run.plan.run_id, worker_id), stop, 0.05).drain()
    finally:
        host.close()


if __name__ == "__main__":
    sys.exit(main())
