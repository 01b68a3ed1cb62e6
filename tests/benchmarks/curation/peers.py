"""The tools that are compared: how each is installed, run and read. A tool that cannot be installed or run is reported with the reason."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyarrow import parquet

from tests.benchmarks.curation.metrics import Expected

ROOT = Path(__file__).resolve().parents[3]
RUNNERS = Path(__file__).resolve().parent / "runners"
CACHE = Path(os.environ.get("VERILAKE_BENCH_CACHE", "~/.cache/verilake/bench")).expanduser()


NO_CURVE = Expected()


@dataclass(frozen=True)
class Home:
    """A virtual environment: pinned packages, and the Python that they need."""

    packages: tuple[str, ...]
    python: str = "python3.11"
    first: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.packages[0].partition("=")[0].partition("[")[0]

    @property
    def versions(self) -> str:
        return ", ".join(self.packages)

    @property
    def interpreter(self) -> Path:
        return CACHE / self.name / "bin" / "python"

    def install(self) -> str | None:
        """Make the environment; None, or the reason why there is none."""
        done = CACHE / self.name / ".installed"
        if done.exists() and done.read_text() == self.versions:
            return None
        CACHE.mkdir(parents=True, exist_ok=True)
        python = _python(self.python)
        if python is None:
            return f"no {self.python} on this machine"
        steps = [[python, "-m", "venv", str(CACHE / self.name)]]
        steps += [[str(self.interpreter), "-m", "pip", "install", "--quiet", *part] for part in (self.first, self.packages) if part]
        for step in steps:
            ran = subprocess.run(step, capture_output=True, text=True, check=False, cwd=CACHE)
            if ran.returncode:
                return (ran.stderr.strip().splitlines() or ["installation failed"])[-1][:160]
        done.write_text(self.versions)
        return None


def _python(name: str) -> str | None:
    """The first interpreter of this name that starts: a shim may stand for one that is not installed."""
    version = name.removeprefix("python")
    candidates = [shutil.which(name), *sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))]
    for candidate in candidates:
        if candidate and subprocess.run([str(candidate), "--version"], capture_output=True, check=False).returncode == 0:
            return str(candidate)
    return None


@dataclass(frozen=True)
class Tool:
    """A tool at one setting.

    Attributes:
        name: of the row.
        setting: in words.
        command: of input and output folder.
        home: its environment; None for verilake.
        expected: banding that it claims; 0 bands where its shingles are not those of the truth.
        flags: flags every row of a pair, the one that should stay too.
        chars: judged by the Jaccard of its own character shingles.
    """

    name: str
    setting: str
    command: Callable[[Path, Path], list[str]]
    home: Home | None = None
    expected: Expected = NO_CURVE
    chars: bool = False
    flags: bool = False

    def stages(self, out: Path) -> dict[str, float]:
        """Seconds by stage where the tool tells them."""
        summary = out / "summary.json"
        return dict(json.loads(summary.read_text()).get("seconds", {})) if summary.exists() else {}

    def removed(self, out: Path) -> list[int]:
        """Ids that went."""
        if self.home is None and (out / "duplicates.parquet").exists():
            return [int(row) for row in parquet.read_table(out / "duplicates.parquet", columns=["id"])["id"].to_pylist()]
        return [int(line) for line in (out / "removed.txt").read_text().split()]


DATATROVE = Home(("datatrove[processing,io]==0.10.1", "spacy==3.8.18"))
TEXT_DEDUP = Home(("text-dedup==0.4.1",), python="python3.12")
SKETCHES = Home(("rensa==0.5.0", "datasketch==2.0.0", "pyarrow", "numpy"))
CURATOR = Home(("distributed-curator==0.1.6", "pyspark==3.5.9", "pyarrow", "pandas"), first=("setuptools", "wheel", "cython"))


def _script(home: Home, script: str, setting: str) -> Callable[[Path, Path], list[str]]:
    return lambda source, out: [str(home.interpreter), str(RUNNERS / script), str(source), str(out), setting]


def _verilake(*settings: str) -> Callable[[Path, Path], list[str]]:
    options = [part for setting in settings for part in ("--set", setting)]
    return lambda source, out: [str(ROOT / ".venv/bin/verilake"), "dedup", str(source), str(out), *options]


def _peer(
    home: Home, script: str, name: str, setting: str, words: str, expected: Expected, *, chars: bool = False, flags: bool = False
) -> Tool:
    return Tool(name, words, _script(home, script, setting), home, expected, chars, flags)


TOOLS = [
    Tool("verilake dedup", "default: 20x6, verified J >= 0.8", _verilake(), expected=Expected(20, 6, 0.8)),
    Tool(
        "verilake dedup",
        "14x8, verified J >= 0.7",
        _verilake("curate.bands=14", "curate.rows=8", "curate.jaccard=0.7"),
        expected=Expected(14, 8, 0.7),
    ),
    Tool(
        "verilake dedup",
        "14x8, components",
        _verilake("curate.bands=14", "curate.rows=8", "curate.mode=components"),
        expected=Expected(14, 8),
    ),
    Tool(
        "verilake dedup", "20x6, verified J >= 0.01 (shows the LSH alone)", _verilake("curate.jaccard=0.01"), expected=Expected(20, 6, 0.01)
    ),
    Tool(
        "verilake on Spark",
        "default, without the lake's tables",
        lambda source, out: [str(ROOT / ".venv/bin/python"), str(RUNNERS / "run_verilake_spark.py"), str(source), str(out), "default"],
        expected=Expected(20, 6, 0.8),
    ),
    _peer(DATATROVE, "run_datatrove.py", "datatrove", "default", "default = 14x8", Expected(14, 8)),
    _peer(TEXT_DEDUP, "run_text_dedup.py", "text-dedup", "readme", "README: 24x10, 5-grams", Expected(24, 10)),
    _peer(TEXT_DEDUP, "run_text_dedup.py", "text-dedup, clusters fixed", "readme-fixed", "README: 24x10, 5-grams", Expected(24, 10)),
    _peer(TEXT_DEDUP, "run_text_dedup.py", "text-dedup, clusters fixed", "14x8-fixed", "14x8", Expected(14, 8)),
    _peer(SKETCHES, "run_sketches.py", "rensa", "rensa-readme", "README: words, K=128, 0.8", Expected()),
    _peer(SKETCHES, "run_sketches.py", "rensa", "rensa-14x8", "5-grams, 14x8, sketch >= 0.8", Expected(14, 8, 0.8)),
    _peer(SKETCHES, "run_sketches.py", "rensa rho", "rensa-rho", "words, K=128, 8 bands; flags only", Expected(), flags=True),
    _peer(SKETCHES, "run_sketches.py", "datasketch", "datasketch-default", "5-grams, K=128, 0.8 (9x13)", Expected(9, 13)),
    _peer(SKETCHES, "run_sketches.py", "datasketch", "datasketch-14x8", "5-grams, 14x8", Expected(14, 8)),
    _peer(CURATOR, "run_distributed_curator.py", "distributed-curator", "default", "default", Expected(), chars=True),
]
