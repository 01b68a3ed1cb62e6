"""Shared fixtures: one Spark session per test process, a workspace per test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.config import load_config
from jobs.context import JobContext
from jobs.lake.layout import Lake
from jobs.lake.migrate import create_tables
from jobs.workspace import Workspace
from schemas.conf import Config
from udfs.harvest.corpus import harvest

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
#: A fixed clock: nothing in a test depends on the day.
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


#: Files whose tests share the prepared workspace: it takes minutes to lay, so that one process must run them all.
SHARE_PREPARED = {
    "tests/faults/test_stations.py",
    "tests/interop/test_gold_readers.py",
    "tests/spark/test_decontaminate.py",
    "tests/spark/test_eval.py",
    "tests/spark/test_loop.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that needs the prepared workspace stands in one of the files that share it."""
    stray = sorted({item.location[0] for item in items if "prepared" in getattr(item, "fixturenames", ())} - SHARE_PREPARED)
    if stray:
        raise pytest.UsageError(f"these files use the prepared workspace and are not in SHARE_PREPARED: {', '.join(stray)}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Where tests run in two processes: file by file, those that share the prepared workspace in one of them.

    xdist's own ``loadgroup`` does nothing under pytest 9.2: it renames tests in a way that pytest no longer looks at.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            return "prepared" if file in SHARE_PREPARED else file

    return ByFile(config, log)


@pytest.fixture
def now() -> datetime:
    """The clock of the tests."""
    return NOW


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout; tests that ask for it skip where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared/data here")
    return SHARED


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """One session for the whole process; starting a JVM costs 10 s and more."""
    from jobs.session import build_session

    folder = tmp_path_factory.mktemp("spark")
    session = build_session(
        load_config(overrides=["spark.master=local[2]", "spark.driver_memory=2g", "spark.shuffle_partitions=2"]),
        extra={
            # Managed tables and Derby files, should anything create them, go where the test process may write.
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
            # Test data is small: one task a stage is the fastest.
            "spark.default.parallelism": "2",
            "spark.sql.files.openCostInBytes": "0",
            # A thousand small plans: compiling each to byte code, and planning it again while it runs, costs more than interpreting it
            # (the whole loop takes a third less time so).
            **INTERPRETED,
        },
    )
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _cheap_reset(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing cached by one test is seen by the next."""
    yield
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").catalog.clearCache()


@pytest.fixture(scope="session")
def empty_lake(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with every table and no row, laid once: creating the tables costs 10 s and more, copying them nothing."""
    lake = Lake(tmp_path_factory.mktemp("empty"))
    create_tables(spark, lake)
    return lake.root


@pytest.fixture
def make_context(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., JobContext]:
    """``make_context(*overrides, name="ws")`` -> a context on a workspace of its own, on the shared session."""

    def make(*overrides: str, name: str = "ws", config: Config | None = None, with_spark: bool = True) -> JobContext:
        workspace = Workspace.init(tmp_path / name)
        session = request.getfixturevalue("spark") if with_spark else None
        if with_spark:
            shutil.copytree(request.getfixturevalue("empty_lake"), workspace.lake_root, dirs_exist_ok=True)
        return JobContext(
            workspace, config or load_config(workspace.root, overrides=overrides), now=NOW, job_run_id="test", session=session
        )

    return make


@pytest.fixture(autouse=True)
def _no_killpoint() -> Iterator[None]:
    """A kill point left set by a test would end this process."""
    yield
    os.environ.pop("VERILAKE_KILL_AT", None)


#: A campaign small enough for a test: a few hundred documents, two rounds of some forty prompts.
SMALL = (
    "plan.train_prompts=24", "plan.eval_prompts=8", "plan.eval_fresh=4", "plan.eval_collected=4", "plan.probe_prompts=8", "rollout.samples=4", "rollout.base_samples=6",
    "rollout.prompts_per_shard=12", "convert.docs_per_shard=120", "feedback.repair_min_samples=4", "train.steps=40", "eval.bootstrap=200",
)  # fmt: skip


@pytest.fixture(scope="session")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some hundred real documents from this Python installation, in three formats, and one line that is no JSON."""
    folder = tmp_path_factory.mktemp("corpus") / "python"
    harvest(folder, limit=110)
    (folder / "broken.jsonl").write_text('{"text": "a record that ends too ear\n')
    return folder


@pytest.fixture(scope="session")
def interpreted() -> list[str]:
    """Overrides that give a process of its own the quick settings of the shared session."""
    inner = ", ".join(f'"{key}" = "{value}"' for key, value in INTERPRETED.items())
    return [f"spark.conf={{ {inner} }}", "spark.master=local[2]", "spark.shuffle_partitions=2", "spark.driver_memory=2g"]


@dataclass(frozen=True)
class Prepared:
    """A finished workspace, to be read; tests that change something take a copy.

    Attributes:
        root: the workspace after two rounds.
        corpus: what was ingested.
        overrides: its settings.
        before: station of the first round -> the workspace as it was before that station.
    """

    root: Path
    corpus: Path
    overrides: tuple[str, ...]
    before: dict[str, Path]


@pytest.fixture(scope="session")
def prepared(spark: object, empty_lake: Path, small_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Two rounds of the whole loop on the small corpus, run once for all tests."""
    from jobs import ingest_corpus
    from jobs.loop import run_rounds

    folder, before = tmp_path_factory.mktemp("prepared"), {}
    workspace = Workspace.init(folder / "ws")
    shutil.copytree(empty_lake, workspace.lake_root, dirs_exist_ok=True)
    ctx = JobContext(workspace, load_config(workspace.root, overrides=SMALL), now=NOW, job_run_id="prepared", session=spark)

    def keep(station: str, scope: str, report: object | None) -> None:
        if report is None and station not in before and scope != "round=2":
            before[station] = shutil.copytree(workspace.root, folder / f"before-{station}")

    keep("ingest", "", None)
    ingest_corpus.run(ctx, [str(small_corpus)])
    run_rounds(ctx, 2, keep)
    return Prepared(workspace.root, small_corpus, SMALL, before)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty MLflow store whose schema is laid; to be copied."""
    from tests.published_rounds import migrated_store

    return migrated_store(tmp_path_factory)


@pytest.fixture(scope="session")
def two_rounds(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with two published rounds, laid by hand; to be read or copied."""
    from tests.published_rounds import add_round, lay, publish

    workspace = lay(tmp_path_factory.mktemp("tracking") / "ws")
    for round_no in (1, 2):
        add_round(workspace, round_no)
        publish(workspace, round_no)
    return workspace
