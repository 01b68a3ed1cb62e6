"""Near-duplicate tools side by side: quality against exact truth, speed and memory, each in an environment of its own.

    make bench-curation
    .venv/bin/python -m tests.benchmarks.curation.bench [--corpus A20 --corpus B --corpus C] [--tool verilake] [--runs 1] [--limit 900]

Corpora: A<n> (n thousand planted documents), B (natural text of this machine), C (torture). One tool at a time, start-up included; the same
command on 50 documents tells the start-up apart. Environments, corpora and results lie below ``$VERILAKE_BENCH_CACHE``. Nothing is asserted:
``report.py`` makes the tables of RESULTS.md from the JSON lines that this prints.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.curation import truth
from tests.benchmarks.curation.corpora import Case, Corpus, natural, planted, torture
from tests.benchmarks.curation.measure import Cost, run
from tests.benchmarks.curation.metrics import groups_of, quality
from tests.benchmarks.curation.peers import CACHE, TOOLS, Tool

ROOT = Path(__file__).resolve().parents[3]
BRUTE_FORCE = 25_000
START_DOCUMENTS = 50
#: Of this process alone, so that two runs of the harness do not meet.
SCRATCH = CACHE / f"scratch-{os.getpid()}"
LEAST = 0.2


class Truth:
    """Exact pairs and groups of a corpus: all of them up to 25,000 documents, the planted ones beyond."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.chars = corpus, None
        rows = len(corpus.texts)
        planted_pairs = list(_same_group(corpus.group))
        if rows <= BRUTE_FORCE:
            self.words = truth.every_pair(corpus.texts, LEAST)
        else:
            self.words = _at_least(truth.of_pairs(corpus.texts, planted_pairs, truth.word_shingles))
        self.group = np.array(corpus.group) if corpus.group else groups_of(self.words, rows, 0.3)

    def of(self, tool: Tool) -> truth.Pairs:
        """Pairs by the tool's own shingles; those of characters only where words agree by 0.2 or the pair was planted."""
        if not tool.chars:
            return self.words
        if self.chars is None:
            known = {*zip(self.words.first.tolist(), self.words.second.tolist(), strict=True), *_same_group(self.corpus.group)}
            self.chars = _at_least(truth.of_pairs(self.corpus.texts, known, truth.char_shingles))
        return self.chars


def _same_group(group: list[int]) -> list[tuple[int, int]]:
    rows: dict[int, list[int]] = {}
    for row, base in enumerate(group):
        rows.setdefault(base, []).append(row)
    return [(a, b) for members in rows.values() for at, a in enumerate(members) for b in members[at + 1 :]]


def _at_least(pairs: truth.Pairs) -> truth.Pairs:
    near = pairs.jaccard >= LEAST
    return truth.Pairs(pairs.first[near], pairs.second[near], pairs.jaccard[near])


def _environment() -> dict[str, str]:
    """What a tool sees: no settings of another Spark, no network, the cores of this machine."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "VIRTUAL_ENV", "PYTHONPATH"))}
    return {**env, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "PYTHONWARNINGS": "ignore", "TOKENIZERS_PARALLELISM": "true"}


def execute(tool: Tool, source: Path, scratch: Path, limit: float) -> tuple[Cost, list[int]]:
    """One run in an empty folder."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    cost = run(tool.command(source, scratch / "out"), scratch / "log", limit=limit, env=_environment(), cwd=scratch)
    removed = tool.removed(scratch / "out") if cost.rc == 0 else []
    return cost, removed


def emit(results: Path, **record: Any) -> None:
    """One JSON line to the results and to the person who waits."""
    line = json.dumps(record)
    with results.open("a") as out:
        out.write(line + "\n")
    print(line, flush=True)


def bench(corpus: Corpus, tools: list[Tool], options: argparse.Namespace, results: Path) -> None:
    """Every tool on one corpus."""
    folder = CACHE / "corpora" / corpus.name
    shutil.rmtree(folder, ignore_errors=True)
    corpus.write(folder / "all")
    Corpus("start", corpus.texts[:START_DOCUMENTS]).write(folder / "start", files=1)
    begun = time.monotonic()
    known = Truth(corpus)
    rows, megabytes = len(corpus.texts), corpus.megabytes
    emit(
        results, kind="corpus", name=corpus.name, documents=rows, megabytes=megabytes, pairs=len(known.words),
        exact=rows <= BRUTE_FORCE, truth_seconds=time.monotonic() - begun,
    )  # fmt: skip
    done: Counter[Tool] = Counter()
    for tool in tools:
        start, _ = execute(tool, folder / "start", SCRATCH, options.limit)
        for at in range(done[tool], done[tool] + options.runs):
            done[tool] += 1
            load = os.getloadavg()[0]
            cost, removed = execute(tool, folder / "all", SCRATCH, options.limit)
            record = {
                "kind": "run", "corpus": corpus.name, "tool": tool.name, "setting": tool.setting, "run": at, "rc": cost.rc, "wall": cost.wall,
                "cpu": cost.cpu, "rss_mb": cost.rss_mb, "start_wall": start.wall, "start_cpu": start.cpu, "load": [load, os.getloadavg()[0]],
                "documents": rows, "megabytes": megabytes,
                "stages": tool.stages(SCRATCH / "out"),
            }  # fmt: skip
            if cost.rc == 0:
                figures = quality(removed, rows, known.of(tool), known.group, tool.expected, corpus.edit or None, flags=tool.flags)
                record["quality"] = asdict(figures)
            else:
                record["reason"] = f"over {options.limit:.0f} s" if cost.rc is None else _why(cost.tail)
                record["tail"] = cost.tail
            emit(results, **record)


def bench_torture(tools: list[Tool], options: argparse.Namespace, results: Path) -> None:
    """C: all cases as one corpus, as they share nothing; where that fails, every case by itself, so that one crash does not hide the others."""
    cases = torture()
    for tool in (tool for tool in tools if not tool.flags):
        stay, cost = _stay(tool, cases, options.limit)
        alone = cost.rc != 0
        if alone:
            emit(results, kind="failed", tool=tool.name, setting=tool.setting, corpus="C", rc=cost.rc, tail=cost.tail[-600:])
        for at, case in enumerate(cases):
            rest = stay[at]
            if alone:
                (rest,), cost = _stay(tool, [case], min(options.limit, 120))
            emit(
                results, kind="case", tool=tool.name, setting=tool.setting, case=case.name, rows=len(case.texts), stay=rest, alone=alone,
                least=case.least, most=case.most, right=rest is not None and case.least <= rest <= case.most, rc=cost.rc,
            )  # fmt: skip


def _stay(tool: Tool, cases: list[Case], limit: float) -> tuple[list[int | None], Cost]:
    """How many rows of each case stay when they are one corpus; None where the tool failed."""
    folder = SCRATCH.with_suffix(".in")
    shutil.rmtree(folder, ignore_errors=True)
    Corpus("C", [text for case in cases for text in case.texts]).write(folder, files=1)
    cost, removed = execute(tool, folder, SCRATCH, limit)
    ends = np.cumsum([len(case.texts) for case in cases])
    gone = np.bincount(np.searchsorted(ends, np.array(sorted(set(removed)), np.int64), side="right"), minlength=len(cases))
    return [len(case.texts) - int(went) if cost.rc == 0 else None for case, went in zip(cases, gone, strict=True)], cost


def _why(tail: str) -> str:
    """The last line of a log that names an error, else the last line."""
    lines = tail.strip().splitlines() or ["no output"]
    return next((line for line in reversed(lines) if "Error" in line or "Exception" in line), lines[-1])[:160]


def _machine() -> dict[str, Any]:
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = next((line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=ROOT).stdout.strip()
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory, 1),
        "python": sys.version.split()[0],
        "commit": commit,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="append", help="A2, A20, A200, B, C; repeatable; default A20, B, C")
    parser.add_argument(
        "--tool", action="append", help="only rows whose name begins so; repeatable: they run in this order, a name given twice twice"
    )
    parser.add_argument("--setting", action="append", help="only settings that hold this text; repeatable")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one run")
    parser.add_argument("--results", type=Path, default=CACHE / "results.jsonl")
    return parser.parse_args()


def main() -> None:
    options = _options()
    CACHE.mkdir(parents=True, exist_ok=True)
    wanted = [
        tool for prefix in options.tool or [""] for tool in TOOLS
        if tool.name.startswith(prefix) and (not options.setting or any(part in tool.setting for part in options.setting))
    ]  # fmt: skip
    emit(
        options.results,
        kind="session",
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        load=os.getloadavg(),
        argv=sys.argv[1:],
        **_machine(),
    )
    tools, reasons = [], {home: home.install() for home in {tool.home for tool in wanted if tool.home}}
    for tool in wanted:
        reason = reasons.get(tool.home) if tool.home else None
        if reason:
            emit(options.results, kind="absent", tool=tool.name, setting=tool.setting, reason=reason)
        else:
            tools.append(tool)
    for name in options.corpus or ["A20", "B", "C"]:
        if name == "C":
            bench_torture(tools, options, options.results)
        else:
            bench(natural() if name == "B" else planted(1000 * int(name[1:])), tools, options, options.results)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    shutil.rmtree(SCRATCH.with_suffix(".in"), ignore_errors=True)
    emit(options.results, kind="end", at=datetime.now(UTC).isoformat(timespec="seconds"), load=os.getloadavg())


if __name__ == "__main__":
    main()
