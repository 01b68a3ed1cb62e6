"""What look-alikes cost beside unique documents: ``verilake dedup`` on crowds of 300 words each, CPU seconds of the whole command.

.venv/bin/python -m tests.benchmarks.curation.crowds [--documents 100000] [--crowd unique --crowd copies ...]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.curation.corpora import Corpus, _Prose
from tests.benchmarks.curation.measure import run
from tests.benchmarks.curation.peers import ROOT

WORDS = 300
#: Own words at the end of a template; two siblings of w own words share 296 - w of their 296 shingles.
OWN = {"siblings, J about 0.90": 15, "siblings, J about 0.74": 44, "siblings, J about 0.60": 75, "siblings, J about 0.33": 150}
CROWDS = ("unique", "copies", *OWN, "12 words changed anywhere", "crowds of 100")


def texts(crowd: str, count: int) -> Iterator[str]:
    prose, rng = _Prose(7), random.Random(1)
    template, templates = prose.some(WORDS), [prose.some(WORDS) for _ in range(max(1, count // 100))]
    for at in range(count):
        words = prose.some(WORDS) if crowd == "unique" else list(template)
        if crowd in OWN:
            words[WORDS - OWN[crowd] :] = prose.some(OWN[crowd])
        elif crowd == "12 words changed anywhere":
            for place, word in zip(rng.sample(range(WORDS), 12), prose.some(12), strict=True):
                words[place] = word
        elif crowd == "crowds of 100":
            words = [*templates[at % len(templates)][: WORDS - 60], *prose.some(60)]
        yield " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--crowd", action="append", choices=CROWDS)
    options = parser.parse_args()
    for crowd in options.crowd or CROWDS:
        with tempfile.TemporaryDirectory(prefix="verilake-crowds-") as made:
            folder = Path(made)
            Corpus(crowd, list(texts(crowd, options.documents))).write(folder / "in")
            command = [str(ROOT / ".venv/bin/verilake"), "dedup", str(folder / "in"), str(folder / "out")]
            cost = run(command, folder / "log", limit=1800, env=dict(os.environ), cwd=folder)
            kept = json.loads((folder / "out" / "summary.json").read_text())["kept"] if cost.rc == 0 else None
            print(
                json.dumps(
                    {"crowd": crowd, "cpu": round(cost.cpu, 2), "rss_mb": round(cost.rss_mb), "kept": kept, "load": os.getloadavg()[0]}
                )
            )
            shutil.rmtree(folder / "out", ignore_errors=True)


if __name__ == "__main__":
    main()
