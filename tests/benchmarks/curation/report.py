"""Tables in Markdown from the JSON lines of ``bench.py``: ``python -m tests.benchmarks.curation.report RESULTS.jsonl``."""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any

from tests.benchmarks.curation.metrics import BINS

Record = dict[str, Any]


def _share(value: float) -> str:
    return "" if isnan(value) else f"{value:.3f}"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, ["---"] * len(heads), *rows])


def costs(runs: list[Record]) -> str:
    """Median over the runs of each tool; documents a second with the start-up and without it."""
    by_tool: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for run in runs:
        by_tool[run["tool"], run["setting"]].append(run)
    rows = []
    for (tool, setting), every in by_tool.items():
        good = [run for run in every if run["rc"] == 0]
        if not good:
            rows.append([tool, setting, "not finished: " + str(every[-1]["reason"])[:120], *[""] * 8])
            continue
        wall, cpu, rss, start, start_cpu = (
            statistics.median(run[field] for run in good) for field in ("wall", "cpu", "rss_mb", "start_wall", "start_cpu")
        )
        first = good[0]
        rows.append([
            tool, setting, f"{wall:.1f}", f"{start:.1f}", f"{first['documents'] / wall:,.0f}", f"{first['megabytes'] / wall:.1f}", f"{cpu:.1f}",
            f"{first['documents'] / cpu:,.0f}", f"{first['documents'] / max(cpu - start_cpu, 0.01):,.0f}", f"{rss:,.0f}",
            " ".join(f"{load:.0f}" for load in first["load"]),
        ])  # fmt: skip
    heads = [
        "tool",
        "setting",
        "wall s",
        "of it start s",
        "docs/s",
        "MB/s",
        "CPU s",
        "docs/CPU s",
        "docs/CPU s less start",
        "peak RSS MB",
        "load",
    ]
    return _table(heads, rows)


def recalls(runs: list[Record], which: str) -> str:
    """Recall by bin, and the theory of the same pairs in brackets."""
    rows = []
    for run in runs:
        if run["rc"] == 0 and run["run"] == 0:
            cells = [
                f"{_share(found)}" + (f" ({_share(theory)})" if not isnan(theory) else "") for _, found, theory in run["quality"][which]
            ]
            rows.append([run["tool"], run["setting"], *cells])
    good = [run for run in runs if run["rc"] == 0]
    counts = [str(count) for count, _, _ in good[0]["quality"][which]] if good else []
    names = [f"{low:g}-{min(high, 1):g}" for low, high in pairwise(BINS)]
    return _table(["tool", "setting", *[f"{name} (n={count})" for name, count in zip(names, counts, strict=False)]], rows)


def removals(runs: list[Record]) -> str:
    """What went, with which reason."""
    rows = []
    for run in runs:
        if run["rc"] != 0 or run["run"]:
            continue
        found = run["quality"]
        reasons, lost = found["unreasoned"], found["lost"]
        cells = [str(reasons[low]) for low in ("0.8", "0.7", "0.5", "0.2")] if reasons else ["-"] * 4
        rows.append([run["tool"], run["setting"], str(found["removed"]), *cells, "-" if lost is None else str(lost)])
    heads = ["tool", "setting", "removed", "best kept J < 0.8", "< 0.7", "< 0.5", "< 0.2", "groups lost"]
    return _table(heads, rows)


def edits(runs: list[Record]) -> str:
    """Share of the planted copies of J >= 0.8 that were caught, by edit."""
    good = [run for run in runs if run["rc"] == 0 and run["run"] == 0 and run["quality"]["by_edit"]]
    names = sorted({name for run in good for name in run["quality"]["by_edit"]})
    rows = []
    for run in good:
        by = run["quality"]["by_edit"]
        rows.append([run["tool"], run["setting"], *[f"{by[name][0]}/{by[name][1]}" if name in by else "" for name in names]])
    return _table(["tool", "setting", *names], rows) if good else ""


def cases(records: list[Record]) -> str:
    """C: how many rows stayed, in bold where that is wrong."""
    tools = list(dict.fromkeys((record["tool"], record["setting"]) for record in records))
    names = list(dict.fromkeys(record["case"] for record in records))
    by = {(record["tool"], record["setting"], record["case"]): record for record in records}
    rows = []
    for tool, setting in tools:
        cells = [by.get((tool, setting, name)) for name in names]
        words = ["" if cell is None else ("failed" if cell["stay"] is None else str(cell["stay"])) for cell in cells]
        right = sum(1 for cell in cells if cell and cell["right"])
        marked = [word if cell and cell["right"] else f"**{word}**" for word, cell in zip(words, cells, strict=True)]
        rows.append([tool, setting, f"{right}/{len(names)}", *marked])
    bounds = [next(record for record in records if record["case"] == name) for name in names]
    heads = [f"{at}" for at in range(1, len(names) + 1)]
    keys = "\n".join(
        f"{at}. {name}: {record['rows']} rows, {record['least']}"
        + (f" to {record['most']}" if record["most"] != record["least"] else "")
        + " may stay"
        for at, (name, record) in enumerate(zip(names, bounds, strict=True), 1)
    )
    return keys + "\n\n" + _table(["tool", "setting", "right", *heads], rows)


def report(records: list[Record]) -> str:
    """All tables of a results file."""
    parts = []
    for corpus in (record for record in records if record["kind"] == "corpus"):
        runs = [record for record in records if record["kind"] == "run" and record["corpus"] == corpus["name"]]
        if not runs or any(part.startswith(f"## {corpus['name']}:") for part in parts):
            continue
        truth = "every pair" if corpus["exact"] else "planted pairs"
        parts += [
            f"## {corpus['name']}: {corpus['documents']:,} documents, {corpus['megabytes']:.1f} MB, {corpus['pairs']:,} pairs of J >= 0.2 ({truth})",
            costs(runs), "Recall of pairs without other neighbours, theory in brackets:", recalls(runs, "alone"),
            "Recall of every pair (found: not both stayed; theory of the LSH alone):", recalls(runs, "every"), "Removals:", removals(runs),
        ]  # fmt: skip
        table = edits(runs)
        parts += ["Caught of planted copies with J >= 0.8, by edit:", table] if table else []
    torture = [record for record in records if record["kind"] == "case"]
    parts += ["## C: torture", cases(torture)] if torture else []
    absent = {(record["tool"], record["setting"]): record["reason"] for record in records if record["kind"] == "absent"}
    parts += [f"- {tool} ({setting}): not run: {reason}" for (tool, setting), reason in absent.items()]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(report([json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]))
