"""Fetching the Delta jars: Spark's scripts are told which pyspark is meant."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from jobs.jars import spark_environment

pytestmark = pytest.mark.spark


def test_sparks_scripts_find_this_pyspark_whatever_python3_the_path_holds(tmp_path):
    # a python3 that knows no pyspark, as on a machine where only the virtual environment has it
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    java = Path(shutil.which("java") or "java").parent
    environment = {key: value for key, value in os.environ.items() if key not in {"SPARK_HOME", "PYSPARK_PYTHON"}}
    environment["PATH"] = f"{tmp_path}:{java}:/usr/bin:/bin"
    command = [Path(sys.executable).with_name("spark-submit"), "--version"]

    def said(more):
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment | more).stderr

    assert f"version {pyspark.__version__}" in said(spark_environment())
    assert pyspark.__version__ not in said({})
