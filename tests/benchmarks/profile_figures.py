"""What a profile costs on one core, part by part: ``python -m tests.benchmarks.profile_figures FILE...`` (plain text in UTF-8).

Prints megabytes of text per second of processor time beside a floor measured in the same run: a histogram of the bytes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from udfs.language.identify import languages
from udfs.language.model import load_model
from udfs.pii.mask import pii_columns
from udfs.quality.metrics import document_metrics

#: Code points of a document, about those of a web page; documents of one measurement, and runs of which the quickest counts.
DOCUMENT, DOCUMENTS, RUNS = 4000, 5000, 5
STOP_WORDS = {"en": ["the", "be", "to", "of", "and", "that", "have", "with"]}


def speed(column: pa.Array, work: Callable[[pa.Array], object]) -> float:
    """Megabytes per second of processor time, the quickest of some runs after one that warms up."""
    size = sum(len(text.encode()) for text in column.to_pylist()) / 1e6
    work(column[:8])
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work(column)
        times.append(time.process_time() - start)
    return size / min(times)


def measure(name: str, text: str) -> None:
    """One line of figures for one text, cut into documents."""
    pieces = [text[at : at + DOCUMENT] for at in range(0, len(text), DOCUMENT)]
    column = pa.array((pieces * (DOCUMENTS // len(pieces) + 1))[:DOCUMENTS])
    small, model = column[:300], load_model()
    parts = {
        "byte histogram": speed(column, lambda c: np.bincount(np.frombuffer(c.buffers()[2], np.uint8), minlength=256)),
        "figures, compiled": speed(column, lambda c: document_metrics(c, "numba", STOP_WORDS, ["en"] * len(c))),
        "figures, plain": speed(small, lambda c: document_metrics(c, "numpy", STOP_WORDS, ["en"] * len(c))),
        "language": speed(column[:1000], lambda c: languages(c, model)),
        "personal data": speed(column[:1000], pii_columns),
    }
    print(f"{name}: " + ", ".join(f"{part} {value:.1f} MB/s" for part, value in parts.items()))


if __name__ == "__main__":
    for path in sys.argv[1:]:
        text = Path(path).read_text("utf-8")
        measure(Path(path).name, text)
        measure(f"{Path(path).name}, ASCII alone", text.encode("ascii", "ignore").decode())
