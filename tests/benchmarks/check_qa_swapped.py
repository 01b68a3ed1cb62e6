"""What an open-book probe by the embedded reader says of swapped answers, which no check of one item alone can tell.

    .venv/bin/python tests/benchmarks/check_qa_swapped.py [--data ../shared/data] [--language en] [--n 200]

Human questions (XQuAD) with their own answers, and with another span of the same type of the same passage. The reader sees the passage.
Printed: how often its best answer is the given one, how often it gives it no chance at all, and the area under the curve of the probability that
it gives. A weak reader says little (E section 2): the figures say how little. No assertion: a person reads them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from schemas.ids import uniform_from
from udfs.grading.texts import normalise_text
from udfs.probes.spoil import spoil
from udfs.reader.checkpoint import base_weights
from udfs.reader.passages import passages_of
from udfs.reader.policy import Reader, answers_of, greedy
from udfs.reader.question import Prompt

TEMPERATURE = 0.5


def human(path: Path) -> list[dict[str, Any]]:
    """Rows of a file in SQuAD's form, in an order that their ids give."""
    data = json.loads(path.read_text("utf-8"))["data"]
    rows = [
        {"id": qa["id"], "question": qa["question"], "answer": qa["answers"][0]["text"], "context": paragraph["context"]}
        for article in data
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
    ]
    return sorted(rows, key=lambda row: uniform_from("check_qa_swapped", row["id"]))


def judged(reader: Reader, row: dict[str, Any], answer: str) -> tuple[bool, float]:
    """Whether the reader's best answer is ``answer``, and the probability of it."""
    prompt = Prompt(row["id"], "", f"{row['context']}\n\n{row['question']}", row["question"], "", context=row["context"])
    features, weights = reader.features(prompt), base_weights()
    wanted = [said for said in dict.fromkeys(features.answers) if normalise_text(said) == normalise_text(answer)]
    best = greedy(features, weights)
    return normalise_text(best) == normalise_text(answer), answers_of(features, weights, TEMPERATURE, wanted)


def area(good: list[float], bad: list[float]) -> float:
    """Probability that a good item has the larger figure than a bad one, ties by half."""
    wins = sum((a > b) + 0.5 * (a == b) for a in good for b in bad)
    return wins / max(1, len(good) * len(bad))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[3] / "shared" / "data")
    parser.add_argument("--language", default="en")
    parser.add_argument("--n", type=int, default=200)
    options = parser.parse_args()
    rows = human(options.data / "xquad" / f"xquad.{options.language}.json")
    texts = sorted({row["context"] for row in rows})
    documents = pa.RecordBatch.from_pylist([{"doc_id": str(at), "title": "", "text": text} for at, text in enumerate(texts)])
    reader = Reader(pa.Table.from_batches([passages_of(documents)]), 5)
    found: dict[str, list[tuple[bool, float]]] = {"own answer": [], "swapped answer": []}
    for row in rows[: options.n]:
        swapped = spoil(row, "answer_swapped")
        if swapped is not None:
            found["own answer"].append(judged(reader, row, row["answer"]))
            found["swapped answer"].append(judged(reader, row, swapped["answer"]))
    for name, judgements in found.items():
        best = sum(is_best for is_best, _ in judgements)
        none = sum(p < 0.01 for _, p in judgements)
        print(f"{name}: {len(judgements)} items; the reader's best answer for {best}; less than 1 % for {none} (a probe would flag these)")
    own, swapped_ones = ([p for _, p in found[name]] for name in ("own answer", "swapped answer"))
    print(f"area under the curve of its probability: {area(own, swapped_ones):.3f}")


if __name__ == "__main__":
    main()
