"""Which environments a worker has, by the name that an item carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_workers.environments import python_tests, python_tool, question_answering, workspace
from gpu_workers.environments.environment import Environment, SettingError
from udfs.sandbox.sandbox import Sandbox

#: Environments in which code runs.
SANDBOXED: Mapping[str, Callable[[str, Sandbox], Environment]] = {
    python_tests.NAME: python_tests.PythonTests,
    python_tool.NAME: python_tool.PythonTool,
    workspace.NAME: workspace.Workspace,
}


def build_environment(name: str, setting: str, sandbox: Sandbox | None) -> Environment:
    """An environment for one episode.

    Args:
        name: as in the item.
        setting: canonical JSON.
        sandbox: where code runs; None where the worker was told that none will.

    Raises:
        SettingError: no such environment here, or a setting that it cannot take.
    """
    if name == question_answering.NAME:
        return question_answering.QuestionAnswering(setting)
    if name not in SANDBOXED:
        raise SettingError(f"there is no environment {name}; there are {', '.join(sorted([question_answering.NAME, *SANDBOXED]))}.")
    if sandbox is None:
        raise SettingError(f"environment {name} runs code, and the run's setting `environments` does not name it.")
    return SANDBOXED[name](setting, sandbox)
