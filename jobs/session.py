"""The one place that builds a Spark session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.jars import ensure_jars
from schemas.conf import Config
from schemas.errors import VerilakeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINIMUM_JAVA = 17
_LOG_CONF = Path(__file__).resolve().parents[1] / "conf" / "log4j2.properties"

#: What every session of verilake carries, on a laptop or a cluster.
SESSION_CONF: Mapping[str, str] = {
    # Delta's two hooks into Spark.
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Timestamps in tables are UTC whatever the machine's zone.
    "spark.sql.session.timeZone": "UTC",
    # A Delta snapshot of one of our tables is small; 50 partitions (the default) made a MERGE take 50 s instead of 4 s (L§6).
    "spark.databricks.delta.snapshotPartitions": "1",
    # Arrow batches of 64 MiB at most carry documents of tens of megabytes without one batch of 10,000 of them.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    # A Python worker that dies should say where.
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
}

#: Added where verilake starts the JVM itself on this machine.
LOCAL_CONF: Mapping[str, str] = {
    # No web UI: nothing listens, start-up is faster.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Loopback only: a laptop's host name often resolves to an address that is unreachable.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Small data: broadcast joins and few tasks instead of adaptive re-planning of every stage.
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "4",
}


class JavaError(VerilakeError):
    """No Java that Spark 4 can use."""

    @classmethod
    def missing(cls) -> JavaError:
        """There is no java command."""
        return cls(
            f"Java {MINIMUM_JAVA} or newer is needed and no `java` was found: install it (Debian/Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME."
        )

    @classmethod
    def too_old(cls, found: str) -> JavaError:
        """There is one, but Spark 4 refuses it."""
        return cls(f"Java {MINIMUM_JAVA} or newer is needed, found {found}: install a newer one or set JAVA_HOME to it.")


def check_java() -> None:
    """Fail with one line where no usable Java is installed.

    Raises:
        JavaError: no java, or an older one than Spark 4 needs.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not Path(java).exists():
        raise JavaError.missing()
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = said.split('"')[1] if '"' in said else ""
    major = version.split(".")[0].split("-")[0]
    if not major.isdigit():
        raise JavaError.missing()
    if int(major) < MINIMUM_JAVA:
        raise JavaError.too_old(version)


def build_session(config: Config, *, extra: Mapping[str, str] | None = None) -> SparkSession:
    """A session with Delta: joins the one of ``spark-submit`` where there is one, else starts a local JVM.

    Raises:
        JavaError: no usable Java.
        JarsError: the Delta jars are missing and cannot be fetched.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    submitted = "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._active_spark_context is not None  # noqa: SLF001  # no public question asks this
    builder = SparkSession.builder.appName(f"verilake {config.campaign.name}")
    conf = dict(SESSION_CONF)
    if not submitted:
        check_java()
        # Workers must run this interpreter, not PATH's python3, which lacks pyarrow (L§6.5).
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Loopback only, and no warning about the host's name.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        conf |= {**LOCAL_CONF, **local_jvm_conf(config)}
        builder = builder.master(config.spark.master)
    for key, value in {**conf, **config.spark.conf, **(extra or {})}.items():
        builder = builder.config(key, value)
    session: SparkSession = builder.getOrCreate()
    return session


def local_jvm_conf(config: Config) -> dict[str, str]:
    """Settings that only count before the JVM starts."""
    return {
        "spark.jars": ",".join(str(path) for path in ensure_jars()),
        "spark.driver.memory": config.spark.driver_memory,
        "spark.sql.shuffle.partitions": str(config.spark.shuffle_partitions),
        # The throughput collector: batches, not answers. Spark's log goes to a file of ours that says nothing unless it must.
        "spark.driver.extraJavaOptions": f"-XX:+UseParallelGC -Djava.net.preferIPv4Stack=true -Dlog4j2.configurationFile={_LOG_CONF}",
    }


def submit_arguments(config: Config) -> list[str]:
    """Arguments for ``spark-submit`` that bring the jars and settings of this session to a cluster."""
    conf = {**SESSION_CONF, "spark.sql.shuffle.partitions": str(config.spark.shuffle_partitions), **config.spark.conf}
    pairs = [item for key, value in conf.items() for item in ("--conf", f"{key}={value}")]
    return ["--jars", ",".join(str(path) for path in ensure_jars()), *pairs]
