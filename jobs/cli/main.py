"""Entry point: puts the verbs together, turns errors into one message and the right exit code."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from jobs.cli import (
    care_verbs,
    check_qa_verbs,
    decontaminate_verbs,
    dedup_verbs,
    eval_verbs,
    grade_verbs,
    job_verbs,
    judge_verbs,
    publish_verbs,
    read_verbs,
    report_verbs,
    reward_verbs,
    setup_verbs,
    task_verbs,
    track_verbs,
    train_verbs,
    work_verbs,
)
from jobs.logs import set_up_logging
from schemas.errors import VerilakeError

app = typer.Typer(
    name="verilake", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None, add_completion=False,
    help="Pretraining corpora become verifiable tasks; rollouts on them become the next round's data.",
)  # fmt: skip


@app.callback()
def _root(
    log_level: Annotated[str, typer.Option("--log-level", envvar="VERILAKE_LOG_LEVEL", help="DEBUG, INFO, WARNING, ERROR.")] = "WARNING",
    log_json: Annotated[bool, typer.Option("--log-json", envvar="VERILAKE_LOG_JSON", help="Log lines as JSON objects on stderr.")] = False,
) -> None:
    if log_level.upper() not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        raise typer.BadParameter(f"{log_level}: one of DEBUG, INFO, WARNING, ERROR", param_hint="--log-level")
    set_up_logging(log_level, as_json_lines=log_json)
    # Spark's Python side warns about what its users cannot change (pandas versions, socket clean-up).
    warnings.filterwarnings("ignore", module="pyspark")


for verbs in (
    setup_verbs,
    job_verbs,
    work_verbs,
    dedup_verbs,
    grade_verbs,
    check_qa_verbs,
    decontaminate_verbs,
    task_verbs,
    publish_verbs,
    train_verbs,
    eval_verbs,
    read_verbs,
    reward_verbs,
    judge_verbs,
    report_verbs,
    track_verbs,
    care_verbs,
):
    verbs.register(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 failed, 2 wrong use or configuration, 3 input refused, 4 budget, 5 alert."""
    sys.exit(run(list(arguments) if arguments is not None else sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code."""
    try:
        # The library's own mode: wrong use is its message and exit code 2, an interrupt its 130; our errors pass through.
        app(args=arguments, prog_name="verilake")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    except VerilakeError as error:
        sys.stderr.write(f"verilake: {error}\n")
        return error.exit_code
    except BrokenPipeError:
        # The reader (head, less) has left; writing more, even at exit, would only raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # the last resort: name what an operator can mend, show the rest as it is
        if not _disk_full(error):
            raise
        sys.stderr.write("verilake: the disk is full. Nothing was committed half: free some space and run the same command again.\n")
        return 1
    return 0


def _disk_full(error: BaseException) -> bool:
    """Whether the disk is full, however deep in Spark, Arrow or Python that was noticed."""
    return "No space left on device" in str(error) or getattr(error, "errno", None) == errno.ENOSPC


def submitted(verb: str) -> None:
    """``spark-submit jobs/<job>.py FLAGS`` is ``verilake <verb> FLAGS``: the job is imported as a module, so that workers find it by name."""
    main([verb, *sys.argv[1:]])
