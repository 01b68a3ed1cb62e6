"""The setting of an item of program ``agent``: where it acts, from what files and public tests it starts, within which limits.

Nothing of a contract goes into it but what :mod:`udfs.agents.public` says may be seen; of an answer contract that is nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from schemas.ids import canonical_json
from udfs.agents.public import PublicTests, public_tests
from udfs.trajectories.rewards import CODE_MARK

#: Environments in which no code runs, and which take no limits.
_BARE = frozenset({"question_answering"})
#: File of the public tests in environments with files, and the folder of those that are texts.
TESTS_FILE, TEXTS_FOLDER = "public_tests.py", "public_tests"

#: Columns that :func:`place_batches` takes, and those that it gives.
TASKS = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("prompt_id", "task_type", "contract")])
PLACED = pa.schema([
    pa.field("prompt_id", pa.string(), nullable=False),
    pa.field("environment", pa.string()),
    pa.field("setting", pa.string()),
    pa.field("unplaced", pa.string()),
    pa.field("tests_left_out", pa.int32(), nullable=False),
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a prompt is worked.

    Attributes:
        setting: canonical JSON; None where it cannot be worked there.
        unplaced: why it cannot: ``not_code``, ``broken_contract``, ``no_function``, ``no_public_tests``.
        tests_left_out: public tests that are not shown, because they cannot stand alone.
    """

    setting: str | None
    unplaced: str | None = None
    tests_left_out: int = 0


def setting_of(environment: str, contract: str, limits: Mapping[str, Any]) -> Placed:
    """The setting of a prompt in an environment.

    Args:
        environment: name in gpu_workers.environments.
        contract: canonical JSON of the prompt's contract, of an answer or of code.
        limits: of what tools run, as the environment's setting has them.
    """
    if environment in _BARE:
        return Placed(canonical_json({}))
    tests = public_tests(contract) if CODE_MARK in contract else None
    if environment != "python_tests":
        files, left_out = ({}, 0) if tests is None else (_files(tests), tests.left_out)
        return Placed(canonical_json({"files": files, "limits": dict(limits)}), None, left_out)
    if tests is None:
        return Placed(None, "broken_contract" if CODE_MARK in contract else "not_code")
    if tests.entry_point is None:
        return Placed(None, "no_function")
    if not tests.tests:
        return Placed(None, "no_public_tests", tests.left_out)
    given = {"entry_point": tests.entry_point, "public_tests": list(tests.tests), "setup": tests.setup, "limits": dict(limits)}
    return Placed(canonical_json(given), None, tests.left_out)


def _files(tests: PublicTests) -> dict[str, str]:
    """Public tests as files of a workspace."""
    files = {TESTS_FILE: "\n".join((tests.setup, *tests.tests)).strip("\n") + "\n"} if tests.tests else {}
    for number, (given, wanted) in enumerate(tests.texts):
        files |= {f"{TEXTS_FOLDER}/{number}.in": given, f"{TEXTS_FOLDER}/{number}.out": wanted}
    return files


def place_batches(
    batches: Iterable[pa.RecordBatch], environments: Mapping[str, str], limits: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """``PLACED`` of prompts: a kind of task without an environment has nulls, and one that cannot be worked there its reason.

    Args:
        batches: ``TASKS``.
        environments: kind of task -> environment.
        limits: of what tools run.
    """
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            environment = environments.get(row["task_type"])
            placed = Placed(None) if environment is None else setting_of(environment, row["contract"], limits)
            where = environment if placed.setting is not None else None
            rows.append({"prompt_id": row["prompt_id"], "environment": where, **asdict(placed)})
        yield pa.RecordBatch.from_pylist(rows, schema=PLACED)
