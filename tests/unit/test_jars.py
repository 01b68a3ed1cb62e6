"""Fetching the Delta jars: Spark's scripts are told which pyspark is meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

from jobs.jars import spark_environment


def test_sparks_scripts_find_this_pyspark_whatever_python3_the_path_holds(tmp_path):
    # a python3 that knows no pyspark, as on a machine where only the virtual environment has it
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    script = Path(sys.executable).with_name("find-spark-home")
    environment = {key: value for key, value in os.environ.items() if key not in {"SPARK_HOME", "PYSPARK_PYTHON"}}
    environment["PATH"] = f"{tmp_path}:/usr/bin:/bin"

    def found(more):
        command = f'. "{script}" >/dev/null 2>&1; echo "$SPARK_HOME"'
        return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, env=environment | more).stdout.strip()

    assert found(spark_environment()) == str(Path(pyspark.__file__).parent)
    assert found({}) == ""
