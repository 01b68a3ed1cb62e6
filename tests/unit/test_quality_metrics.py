from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from schemas.conf import Curate
from schemas.silver.documents import DOCUMENTS
from udfs.quality.metrics import METRICS, document_metrics
from udfs.quality.rules import RULES

# text, then figures derived by hand: n_chars, n_words, mean_word_length, symbol_ratio, top_word_share, dup_line_share, dup_5gram_share
GOLDEN = [
    ("", 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (" \n\t ", 4, 0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ("...", 3, 0, 0.0, 1.0, 0.0, 0.0, 0.0),
    # 12 code points; words the(3) cat(3) the(3); one symbol '.'; the = 2 of 3
    ("The cat the.", 12, 3, 3.0, 1 / 12, 2 / 3, 0.0, 0.0),
    # lines ab, ab, cd: 6 code points, 2 repeated; words ab ab cd
    ("ab\nab\ncd", 8, 3, 2.0, 0.0, 2 / 3, 2 / 6, 0.0),
    # indentation, CR and blank lines do not count
    ("  ab\r\n\n\tab\n", 11, 2, 2.0, 0.0, 1.0, 2 / 4, 0.0),
    # a b c d e a b c d e: 6 five-grams, abcde twice
    ("a b c d e a b c d e", 19, 10, 1.0, 0.0, 0.2, 0.0, 1 / 6),
    # nine equal words: 5 five-grams, all the same: 4 of 5 repeat
    ("x " * 9, 18, 9, 1.0, 0.0, 1.0, 0.0, 4 / 5),
    # code points are the words of Chinese; the full stop is the one symbol of 5
    ("\u6211\u7231\u6211\u5bb6\u3002", 5, 4, 1.0, 1 / 5, 0.5, 0.0, 0.0),
    # NUL is a symbol and separates; a, b
    ("a\0b", 3, 2, 1.0, 1 / 3, 0.5, 0.0, 0.0),
    # Thai vowel sign is a mark, not a symbol; emoji is one
    ("\u0e01\u0e34\U0001f600", 3, 2, 1.0, 1 / 3, 0.5, 0.0, 0.0),
    # a decomposed letter is two code points of the text, one of the word
    ("e\u0301", 2, 1, 1.0, 0.0, 1.0, 0.0, 0.0),
]


@pytest.mark.parametrize("kernel", ["numba", "numpy"])
def test_golden_figures(kernel: str) -> None:
    found = document_metrics(pa.array([row[0] for row in GOLDEN]), kernel)  # type: ignore[arg-type] # parametrised names
    for row, figures in zip(GOLDEN, found.to_pylist(), strict=True):
        assert list(figures.values()) == pytest.approx(list(row[1:])), row[0]


def test_null_counts_as_empty_and_slices_do_not_shift() -> None:
    rows = ["zzz zzz", None, "The cat the.", "\u6211\u7231"]
    found = document_metrics(pa.array(rows, pa.large_string())[1:]).to_pylist()
    assert found == document_metrics(pa.array(["", *rows[2:]])).to_pylist()


def test_empty_batch_keeps_the_schema() -> None:
    assert document_metrics(pa.array([], pa.string())).schema == METRICS


@pytest.mark.timeout(60)
def test_huge_documents_take_bounded_time() -> None:
    # Five million words in a cycle of 1,000: 1,000 distinct five-grams of 4,999,996; each word 1 in 1,000.
    words = " ".join([f"w{i}" for i in range(1000)] * 5000)
    found = document_metrics(pa.array([words, "x" * 50_000_000, "\n" * 5_000_000])).to_pylist()
    assert found[0]["n_words"] == 5_000_000
    assert found[0]["top_word_share"] == pytest.approx(0.001)
    assert found[0]["dup_5gram_share"] == pytest.approx(4_998_996 / 4_999_996)
    assert (found[1]["n_words"], found[1]["mean_word_length"], found[1]["dup_line_share"]) == (1, 50_000_000.0, 0.0)
    assert (found[2]["n_chars"], found[2]["n_words"], found[2]["dup_line_share"]) == (5_000_000, 0, 0.0)


def test_invalid_utf8_is_measured_not_refused() -> None:
    found = document_metrics(pa.array([b"ab\xff"], pa.binary())).to_pylist()[0]
    assert (found["n_chars"], found["n_words"], found["symbol_ratio"]) == (3, 1, pytest.approx(1 / 3))


def test_columns_and_rules_match_the_contract() -> None:
    assert all(DOCUMENTS.schema.field(f.name).type == f.type for f in METRICS)
    assert {rule.metric for rule in RULES} <= set(METRICS.names)
    assert {rule.threshold for rule in RULES} == {name for name in Curate.model_fields if name.startswith(("min_", "max_"))}
    assert len({rule.reason for rule in RULES}) == len(RULES)


def test_figures_do_not_depend_on_the_batch() -> None:
    rows = [row[0] for row in GOLDEN] * 3
    order = np.random.default_rng(5).permutation(len(rows)).tolist()
    whole = document_metrics(pa.array(rows)).to_pylist()
    assert document_metrics(pa.array([rows[i] for i in order])).to_pylist() == [whole[i] for i in order]
