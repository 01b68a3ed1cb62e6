"""Two JVMs writing one table at once on a local file system: no commit is lost, because writers hold the table's lock (L§6.1)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jobs.lake.layout import Lake
from jobs.lake.migrate import _create_with_spark
from jobs.lake.write import read_table
from schemas.gold.alerts import ALERTS

pytestmark = [pytest.mark.spark, pytest.mark.faults]
WRITES = 4

_WRITER = """
import sys
from pathlib import Path
from pyspark.sql.pandas.types import from_arrow_schema
from jobs.config import load_config
from jobs.lake.layout import Lake
from jobs.lake.write import SliceWrite, write_slice
from jobs.session import build_session
from schemas.gold.alerts import ALERTS

root, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
spark = build_session(load_config(overrides=["spark.master=local[1]", "spark.driver_memory=1g", "spark.shuffle_partitions=1"]))
kind = from_arrow_schema(ALERTS.schema, prefer_timestamp_ntz=False)
for number in range(first, first + count):
    rows = [(number, f"a{i}", "all", "all", "warn", 1.0, 1.0, "m") for i in range(3)]
    write = SliceWrite(table=ALERTS, slice=str(number), fingerprint="f", job="test")
    write_slice(spark, Lake(root), write, lambda: spark.createDataFrame(rows, kind))
"""


def test_two_jvms_lose_no_commit(spark, tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.root.mkdir()
    _create_with_spark(spark, lake, ALERTS)
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(lake.root), str(first), str(WRITES)], stderr=subprocess.PIPE, text=True)
        for first in (1, 101)
    ]
    for writer in writers:
        _, said = writer.communicate(timeout=240)
        assert writer.returncode == 0, said[-2000:]
    rounds = {row["round"]: row["count"] for row in read_table(spark, lake, ALERTS).groupBy("round").count().collect()}
    assert rounds == dict.fromkeys([*range(1, 1 + WRITES), *range(101, 101 + WRITES)], 3)
    # every write is a commit of its own: none was overwritten by the other writer's
    assert len(lake.commits(ALERTS)) == 2 * WRITES
