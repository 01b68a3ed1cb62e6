"""The two Delta jars: fetched once by Spark's own resolver, kept in a cache directory, checked by sha256.

Spark's resolver would pull 33 jars (among them a second Hadoop and a second Parquet beside Spark's own); these two suffice
for everything that verilake does with Delta.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from schemas.errors import VerilakeError

DELTA_VERSION = "4.4.0"
COORDINATE = f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}"
SHA256 = {
    f"delta-spark_4.2_2.13-{DELTA_VERSION}.jar": "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    f"delta-storage-{DELTA_VERSION}.jar": "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
}
#: What delta-spark's metadata asks for but Spark carries itself, or what only a catalogue or the Delta kernel needs.
_EXCLUDED = (
    "org.apache.hadoop:hadoop-client-api", "org.apache.hadoop:hadoop-client-runtime", "io.delta:delta-kernel-api",
    "io.delta:delta-kernel-defaults", "io.delta:delta-kernel-unitycatalog", "io.unitycatalog:unitycatalog-client",
    "io.unitycatalog:unitycatalog-hadoop", "org.locationtech.jts:jts-core",
)  # fmt: skip


class JarsError(VerilakeError):
    """The Delta jars are missing or are not the ones that were checked."""

    @classmethod
    def from_fetch(cls, directory: Path, output: str) -> JarsError:
        """Spark's resolver did not bring them."""
        names = " and ".join(SHA256)
        return cls(
            f"{names} could not be fetched by Spark's resolver. Put both into {directory} by hand (or name their folder in VERILAKE_JARS). "
            f"The resolver's last words:\n{output[-1500:]}"
        )

    @classmethod
    def from_digest(cls, path: Path, found: str, wanted: str) -> JarsError:
        """A file of the right name holds other bytes."""
        return cls(f"{path}: sha256 is {found}, expected {wanted}. Remove the file and run `verilake jars` again.")


def jars_dir() -> Path:
    """``$VERILAKE_JARS``, else a folder of the user's cache."""
    if named := os.environ.get("VERILAKE_JARS"):
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "verilake" / f"jars-{DELTA_VERSION}"


def ensure_jars() -> list[Path]:
    """Paths of the two jars, fetched where missing, verified always.

    Raises:
        JarsError: they cannot be fetched, or their bytes are not the ones that were checked.
    """
    directory = jars_dir()
    if not all((directory / name).is_file() for name in SHA256):
        _fetch(directory)
    paths = [directory / name for name in SHA256]
    for path in paths:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != SHA256[path.name]:
            raise JarsError.from_digest(path, found, SHA256[path.name])
    return paths


def spark_environment() -> dict[str, str]:
    """What Spark's own scripts must be told to find this interpreter's pyspark: left alone they ask PATH's python3, which may have none."""
    found = importlib.util.find_spec("pyspark")
    home = {"SPARK_HOME": str(Path(found.origin).parent)} if found is not None and found.origin else {}
    return {**home, "PYSPARK_PYTHON": sys.executable}


def _fetch(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="verilake-ivy-") as ivy:
        script = Path(ivy) / "nothing.py"
        script.write_text("")
        submit = Path(sys.executable).with_name("spark-submit")
        command = [
            str(submit) if submit.exists() else "spark-submit",
            "--master", "local[1]", "--packages", COORDINATE, "--exclude-packages", ",".join(_EXCLUDED),
            "--conf", f"spark.jars.ivy={ivy}", str(script),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, env=os.environ | spark_environment())
        found = Path(ivy) / "jars"
        for name in SHA256:
            source = found / f"io.delta_{name}"
            if not source.is_file():
                raise JarsError.from_fetch(directory, done.stdout + done.stderr)
            part = directory / f".{name}.{os.getpid()}"
            shutil.copyfile(source, part)
            part.replace(directory / name)
