"""Verbs around the loop: lay a workspace, show settings, fetch jars, harvest a corpus, the demo, cluster arguments."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.bundle import build
from jobs.cli.common import HERE, ConfFlag, JsonFlag, Output, SetFlag, WorkspaceFlag
from jobs.config import load_config
from jobs.jars import ensure_jars
from jobs.session import submit_arguments
from jobs.tracking.destination import redacted
from jobs.workspace import Workspace
from udfs.harvest.corpus import harvest as harvest_corpus


def register(app: typer.Typer) -> None:
    """Add these verbs to the command."""
    app.command("init")(init)
    app.command("conf")(show_conf)
    app.command("jars")(jars)
    app.command("harvest")(harvest)
    app.command("demo")(demo)
    app.command("bundle")(bundle)
    app.command("spark-args")(spark_args)


def init(directory: Annotated[Path, typer.Argument(help="Where to lay it.")], as_json: JsonFlag = False) -> None:
    """Lay a workspace: conf/, lake, hand-off. What exists is left as it is."""
    output = Output(as_json)
    workspace = Workspace.init(directory)
    output.console.print(
        f"workspace {workspace.root}\nnext: verilake ingest PATH... --workspace {shlex.quote(str(directory))}", markup=False, soft_wrap=True
    )
    output.result({"workspace": str(workspace.root)})


def show_conf(workspace: WorkspaceFlag = HERE, conf: ConfFlag = None, overrides: SetFlag = None, as_json: JsonFlag = False) -> None:
    """Print every setting that is in force, as TOML."""
    output = Output(as_json)
    config = load_config(workspace, conf or (), overrides or ())
    sections: dict[str, dict[str, object]] = _shown(config.model_dump(mode="json"))
    for section, values in sections.items():
        output.console.print(f"[{section}]", markup=False)
        for key, value in values.items():
            output.console.print(f"{key} = {_toml(value)}", markup=False, soft_wrap=True)
        output.console.print()
    output.result(sections)


def _shown(value: Any) -> Any:
    """A setting without the credentials that an address in it may carry."""
    if isinstance(value, dict):
        return {key: _shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner) for inner in value]
    return redacted(value) if isinstance(value, str) else value


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return repr(value)


def jars(as_json: JsonFlag = False) -> None:
    """Fetch the two Delta jars once and check their sha256."""
    output = Output(as_json)
    paths = ensure_jars()
    output.console.print("\n".join(map(str, paths)), markup=False, soft_wrap=True)
    output.result({"jars": [str(path) for path in paths]})


def harvest(directory: Annotated[Path, typer.Argument(help="Where to write the corpus.")], as_json: JsonFlag = False) -> None:
    """Make a corpus from what any Python installation carries: reference, standard library, licences."""
    output = Output(as_json)
    summary = harvest_corpus(directory)
    output.console.print(str(summary), markup=False, soft_wrap=True)
    output.result({"summary": str(summary)})


def demo(
    directory: Annotated[Path, typer.Argument(help="Workspace of the demo.")] = Path(".demo"),
    rounds: Annotated[int, typer.Option("--rounds", min=1)] = 2,
    overrides: SetFlag = None,
) -> None:
    """Harvest a corpus, run rounds on it, print what happened."""
    from jobs.demo import run_demo

    run_demo(directory, rounds, overrides or [], Output(as_json=False).console)


def bundle(target: Annotated[Path, typer.Argument(help="Zip for spark-submit --py-files.")] = Path("dist/verilake.zip")) -> None:
    """Write the zip of the four rooms and conf/ for a cluster."""
    Output(as_json=False).console.print(str(build(target)), markup=False, soft_wrap=True)


def spark_args(workspace: WorkspaceFlag = HERE, conf: ConfFlag = None, overrides: SetFlag = None) -> None:
    """Print the arguments that spark-submit needs: jars and settings. Use: spark-submit $(verilake spark-args) --py-files ..."""
    Output(as_json=False).console.print(
        " ".join(submit_arguments(load_config(workspace, conf or (), overrides or ()))), markup=False, soft_wrap=True
    )
