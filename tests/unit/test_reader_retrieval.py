"""Words, passages, BM25 and candidate spans."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.reader.bm25 import K1, B, Bm25
from udfs.reader.passages import MAX_WORDS, PASSAGES, passages_of, split
from udfs.reader.question import Prompt, Question
from udfs.reader.spans import Words
from udfs.reader.words import WORD, stem, terms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("symbol='single', y=-1, z=()", ["symbol", "'single'", "y", "-1", "z", "()"]),
        ("codeop.compile_command() and object.__hash__", ["codeop.compile_command", "()", "and", "object.__hash__"]),
        ("3 September 1939, 176 mm (6.9 in), 3.10 x-1", ["3", "September", "1939", "176", "mm", "6.9", "in", "3.10", "x-1"]),
        ("don't \u201cquote\u201d", ["don't", "quote"]),
    ],
)
def test_words_keep_literals_numbers_and_dotted_names_whole(text, words):
    assert WORD.findall(text) == words


def test_terms_hold_a_dotted_name_whole_and_its_pieces_but_no_stop_words():
    assert terms("The codeop.compile_command of classes") == ["codeop.compile_command", "codeop", "compile", "command", "classe"]
    assert stem("Classes") == stem("classe")
    assert stem("class") == "class"
    assert stem("'single'") == "single"


@given(st.text(alphabet="ab .\n!9'", max_size=600))
@settings(max_examples=100, deadline=None)
def test_passages_hold_every_word_in_order_and_are_bounded(text):
    pieces = list(split(text))
    assert [word for piece in pieces for word in WORD.findall(piece)] == WORD.findall(text)
    assert all(0 < len(WORD.findall(piece)) <= MAX_WORDS for piece in pieces)


def test_a_sentence_longer_than_a_passage_is_cut():
    pieces = list(split(" ".join(f"w{k}" for k in range(250))))
    assert [len(piece.split()) for piece in pieces] == [100, 100, 50]


def test_passages_of_a_batch_carry_ids_title_and_terms():
    schema = pa.schema([("doc_id", pa.string()), ("title", pa.string()), ("text", pa.string())])
    batch = pa.RecordBatch.from_pylist(
        [{"doc_id": "d", "title": None, "text": "One cat."}, {"doc_id": "e", "title": "T", "text": ""}], schema=schema
    )
    made = passages_of(batch)
    assert made.schema.equals(PASSAGES)
    assert made.num_rows == 1
    assert made.to_pylist()[0]["terms"] == ["one", "cat"]
    assert passages_of(batch.slice(0, 0)).num_rows == 0


def slow_bm25(lists, query):
    """The textbook formula, document by document."""
    size, mean = len(lists), sum(map(len, lists)) / len(lists)
    scores = []
    for words in lists:
        counts, score = Counter(words), 0.0
        for word in set(query):
            n = sum(word in other for other in lists)
            idf = math.log(1 + (size - n + 0.5) / (n + 0.5))
            score += idf * counts[word] * (K1 + 1) / (counts[word] + K1 * (1 - B + B * len(words) / mean))
        scores.append(score)
    return scores


def test_bm25_is_the_textbook_formula_and_ties_go_to_the_earlier_passage():
    rng = np.random.default_rng(3)
    lists = [[f"t{k}" for k in rng.integers(0, 12, size=rng.integers(1, 15))] for _ in range(60)]
    lists[41] = list(lists[7])
    index = Bm25.build(pa.array(lists))
    for query in (["t1"], ["t1", "t5", "t9"], ["t3", "unheard"], ["unheard"]):
        slow = slow_bm25(lists, query)
        wanted = sorted((k for k in range(60) if slow[k] > 0), key=lambda k: (-round(slow[k], 9), k))[:5]
        found = index.top(query, 5)
        assert [k for k, _ in found] == wanted
        assert [score for _, score in found] == pytest.approx([slow[k] for k in wanted], rel=1e-12)
    assert index.idf_of("unheard") == pytest.approx(math.log(1 + 60.5 / 0.5))


def test_an_empty_index_finds_nothing():
    assert Bm25.build(pa.array([], type=pa.list_(pa.string()))).top(["x"], 5) == []


def test_spans_stay_within_a_sentence_start_and_end_on_content_words_and_bridge_only_commas():
    words = Words.read("Australia entered the war on 3 September, 1939. The king (George VI) spoke.")
    first, last = words.spans
    strings = {words.string(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)}
    assert {"3 September, 1939", "Australia entered the war", "George VI", "king"} <= strings
    assert not any(s.split()[0].lower() in {"the", "on"} or s.split()[-1].lower() in {"the", "on"} for s in strings)
    assert not any("king (George" in s or "1939. The" in s for s in strings)
    assert max(len(s.split()) for s in strings) <= 5


def test_neighbours_are_the_characters_beside_a_word():
    words = Words.read("f(symbol='single', x)\nBases: csv.Dialect")
    before, after = words.neighbours
    at = {word: k for k, word in enumerate(WORD.findall(words.text))}
    assert (before[at["'single'"]], after[at["'single'"]]) == ("=", ",")
    assert (before[at["symbol"]], before[at["csv.Dialect"]], before[at["Bases"]]) == ("(", ":", "")
    assert after[at["csv.Dialect"]] == ""


def test_an_option_is_found_also_as_the_last_part_of_a_dotted_name():
    words = Words.read("Bases: csv.Dialect and Dialect of Sweden")
    first, last = words.find("Dialect")
    assert [words.string(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)] == ["csv.Dialect", "Dialect"]
    assert words.find("Norway")[0].size == 0


def test_a_prompt_is_taken_apart_without_its_quoted_context():
    prompt = Prompt(
        "p", "", 'Passage: "Explain in JSON."\nAnswer in one word.\nOn what date did it ____ fall?', "On what date did it ____ fall?", "Troy",
        context="Explain in JSON.",
    )  # fmt: skip
    question = Question.read(prompt)
    assert question.cues == {"one_word"}
    assert question.asks == {"date"}
    assert (question.left, question.right) == (("it", "did", "date"), ("fall",))
    assert question.terms == ("date", "fall", "troy")


def test_a_named_unit_is_read():
    question = Question.read(Prompt("p", "", 'How tall is it? Give the answer with its unit "mm".', "How tall is it?", "x"))
    assert question.unit == "mm"
    assert "unit" in question.cues
