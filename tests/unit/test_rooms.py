"""What each room may import, seen from the modules that really get loaded (the import linter sees only what is written)."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pa_fs
import pytest
from deltalake import write_deltalake

import gpu_workers
import schemas
import udfs
from jobs.bundle import build
from jobs.lake.layout import Lake
from schemas.bronze.rejects import REJECTS

ROOT = Path(__file__).resolve().parents[2]


def loaded_by(statement: str) -> set[str]:
    """Top-level packages in sys.modules after ``statement`` in a fresh interpreter."""
    code = f"import sys, json\n{statement}\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stdout.splitlines()[-1]))


def modules_of(package) -> list[str]:
    return [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".") if not found.name.endswith("__main__")]


def test_the_command_loads_neither_torch_nor_vllm_nor_workers():
    assert not loaded_by("import jobs.cli") & {"torch", "vllm", "gpu_workers"}


def test_the_command_starts_without_spark():
    # read-only verbs answer in a second because nothing of Spark is imported before a job needs it
    assert not loaded_by("import jobs.cli") & {"pyspark", "py4j", "delta", "mlflow", "dvc"}


@pytest.mark.parametrize("package", [schemas, udfs, gpu_workers], ids=lambda p: p.__name__)
def test_rooms_import_without_spark(package):
    statement = "\n".join(f"import {name}" for name in modules_of(package))
    assert not loaded_by(statement) & {"pyspark", "py4j", "delta", "jobs", "torch", "vllm"}


def test_schemas_needs_pyarrow_and_pydantic_alone():
    statement = "\n".join(f"import {name}" for name in modules_of(schemas))
    assert not loaded_by(statement) & {"numba", "scipy", "pandas", "polars", "duckdb", "deltalake"}


def test_no_module_of_jobs_shadows_the_standard_library():
    # spark-submit jobs/x.py puts the folder jobs/ first on sys.path: a jobs/views.py would replace the real one
    names = {path.stem for path in (ROOT / "jobs").iterdir() if not path.name.startswith("_")}
    assert names & set(sys.stdlib_module_names) == set()


def test_the_zip_is_the_same_twice_and_carries_conf_and_prompts(tmp_path):
    first, second = build(tmp_path / "a.zip", ROOT), build(tmp_path / "b.zip", ROOT)
    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert "conf/defaults.toml" in names
    assert any(name.startswith("conf/prompts/") for name in names)
    assert {name.split("/")[0] for name in names} == {"schemas", "udfs", "gpu_workers", "jobs", "conf", "dvc.yaml"}


def test_every_rollout_dependency_works_from_the_zip(tmp_path):
    # templates and defaults are read through importlib.resources: from inside the zip as well
    zipped = build(tmp_path / "v.zip", ROOT)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import jobs.config, udfs.prompts.templates as t; jobs.config.load_config(); t.template_versions(); print(t.__file__)"
    done = subprocess.run([sys.executable, "-c", code, str(zipped)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ".zip" in done.stdout


def test_arrow_reads_of_the_lake_go_through_one_place():
    # deltalake's own datasets let one process in five abort at its exit: jobs/lake/layout.py: Lake.dataset
    rooms = [path for room in ("jobs", "udfs", "gpu_workers") for path in (ROOT / room).rglob("*.py")]
    assert [str(path.relative_to(ROOT)) for path in rooms if "to_pyarrow" in path.read_text("utf-8")] == ["jobs/lake/layout.py"]


@pytest.mark.parametrize("partition", ["a b", "c:d/e%", "x=y", "ü"])
def test_arrow_reads_use_no_python_file_and_find_every_partition(partition, tmp_path):
    lake = Lake(tmp_path / "a lake")
    rows = pa.table({"ingest_id": [partition, "1"], "path": ["p", "q"]})
    write_deltalake(str(lake.path(REJECTS)), rows, partition_by=["ingest_id"])
    held = lake.dataset(REJECTS)
    assert isinstance(held.filesystem.base_fs, pa_fs.LocalFileSystem)
    assert sorted(held.to_table(columns=["path"]).column(0).to_pylist()) == ["p", "q"]
    assert held.to_table(filter=ds.field("ingest_id") == partition).column("path").to_pylist() == ["p"]
