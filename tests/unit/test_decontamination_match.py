"""Which text holds which item: planted items are found whatever was done to them, what only resembles them is not."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.decontamination.batches import FOUND, RAW, found_batches, raw_batches
from udfs.decontamination.grams import find, gram_hashes
from udfs.decontamination.index import build_index
from udfs.decontamination.items import Item
from udfs.decontamination.numba_find import Finder
from udfs.decontamination.offsets import original_spans
from udfs.decontamination.rule import Rule
from udfs.decontamination.score import Matcher
from udfs.dedup.kernel import shingle_hashes, token_hashes
from udfs.harvest.corpus import harvest
from udfs.text.normalise import normalise
from udfs.text.tokens import tokens

KERNELS = ["numba", "numpy"]


def prose(seed: int, words: int) -> str:
    """``words`` words that no other seed has."""
    rng = random.Random(seed)
    return " ".join(f"{rng.choice('bdfgklmnprst')}{rng.choice('aeiou')}{seed}x{i}" for i in range(words))


def matched(
    items: list[Item], texts: list[str | None], rule: Rule | None = None, kernel: str = "numpy"
) -> list[tuple[int, str, str, float]]:
    """(row, item, part, coverage) of every match."""
    matcher = Matcher(build_index([("set@1", items)], rule or Rule()), kernel)
    found = matcher(pa.array(texts, pa.string())).found
    return [(m.row, matcher.index.item_ids[int(matcher.index.item[m.field])], m.part, round(m.coverage, 4)) for m in found]


QUESTION = prose(1, 60)
ITEM = Item("q1", QUESTION)


@pytest.mark.parametrize("n", [8, 13])
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_item_is_found_verbatim_rewrapped_in_capitals_and_between_filler(n, kernel):
    words = QUESTION.split()
    texts = [
        QUESTION,
        "\n".join(" ".join(words[i : i + 8]) for i in range(0, 60, 8)),
        " -- ".join(words).upper() + "!",
        f"{prose(2, 500)}\n\n{QUESTION} {prose(3, 500)}",
        prose(4, 500),
        None,
        "",
    ]
    assert matched([ITEM], texts, Rule(n=n), kernel) == [(row, "q1", "question", 1.0) for row in range(4)]


def test_coverage_is_the_share_of_tokens_that_stand_in_the_text():
    # The first 45 of 60 tokens: 45/60; all others are another text's.
    assert matched([ITEM], [" ".join(QUESTION.split()[:45]) + " " + prose(2, 60)]) == [(0, "q1", "question", 0.75)]
    # 30 of 60 fall short of 0.6.
    assert matched([ITEM], [" ".join(QUESTION.split()[:30])]) == []


def test_one_word_in_twenty_changed_is_still_found_and_its_coverage_counts_what_is_left():
    words = QUESTION.split()
    for at in (7, 25, 51):
        words[at] = "other"
    # Between the changes lie 7, 17, 25 and 8 words: the seven are too few for an 8-gram and are found beside the longer runs.
    assert matched([ITEM], [" ".join(words)]) == [(0, "q1", "question", 0.95)]


def test_words_dropped_and_added_do_not_hide_an_item():
    words = QUESTION.split()
    del words[20], words[40]
    words.insert(5, "also")
    assert matched([ITEM], [" ".join(words)])[0][:3] == (0, "q1", "question")


def test_an_item_scattered_over_a_long_text_is_not_held():
    words = QUESTION.split()
    parts = [" ".join(words[i : i + 10]) for i in range(0, 60, 10)]
    far = f" {prose(9, 400)} ".join(parts)
    near = f" {prose(9, 20)} ".join(parts)
    assert matched([ITEM], [far, near]) == [(1, "q1", "question", 1.0)]


def test_shorter_items_need_a_larger_share():
    short = Item("s", prose(5, 10))
    # 8 of 10 tokens: below 0.9 - 0.3 * 2 / 42 = 0.886.
    assert matched([short], [" ".join(short.question.split()[:8]) + " " + prose(6, 9), short.question]) == [(1, "s", "question", 1.0)]
    assert Rule().required(8) == 0.9
    assert Rule().required(50) == Rule().required(500) == 0.6
    assert Rule().required(29) == pytest.approx(0.75)


def test_a_question_shorter_than_an_ngram_is_held_only_beside_its_answer():
    item = Item("short", "What is seven times eight?", "fifty six")
    texts = [
        "What is seven times eight? That question was asked.",
        "They asked: what is seven times eight. The answer is fifty-six, of course.",
        "Fifty six. What is seven times eight?",
        "What is seven times nine? fifty six",
        f"What is seven times eight? {prose(2, 100)} fifty six",
    ]
    assert matched([item], texts) == [(1, "short", "both", 1.0), (2, "short", "both", 1.0)]


def test_a_question_too_short_for_anything_is_counted_as_unmatchable():
    assert build_index([("s@1", [Item("a", "Why so?", "because"), Item("b", "What is it then?", "")])], Rule()).unmatched == {
        "too_short": 2
    }


def test_a_worked_solution_is_held_by_itself_a_short_final_answer_is_not():
    with_solution = Item("s", prose(1, 20), "12", prose(2, 30))
    with_answer = Item("a", prose(3, 20), prose(4, 12))
    with_long_answer = Item("l", prose(5, 20), prose(6, 40))
    texts = [with_solution.solution, with_answer.answer, with_long_answer.answer]
    assert matched([with_solution, with_answer, with_long_answer], texts) == [(0, "s", "answer", 1.0), (2, "l", "answer", 1.0)]


TEMPLATE = "You are given a puzzle with several statements. Read every statement with care, then answer with one letter in brackets."


def test_the_template_of_a_set_counts_on_neither_side():
    items = [Item(str(i), f"{TEMPLATE} {prose(100 + i, 12)}") for i in range(30)]
    index = build_index([("set@1", items)], Rule())
    # 12 own tokens, and the seven of the template that n-grams with an own token reach.
    assert set(index.counted[index.kind == 0].tolist()) == {19}
    assert matched(items, [TEMPLATE, f"{TEMPLATE} {prose(7, 12)}", f"{TEMPLATE} {prose(103, 12)}"]) == [(2, "3", "question", 1.0)]


def test_a_text_with_all_but_the_word_that_tells_two_items_of_a_form_apart_holds_neither():
    names = [prose(300 + i, 1) for i in range(40)]
    items = [
        Item(str(i), f"What is the default value of the parameter width of the function {name} in this library?")
        for i, name in enumerate(names)
    ]
    other = items[0].question.replace(names[0], "anything")
    # 15 of 16 tokens, but those of the form stand in all 40 items: log2(41/40) each beside log2(41).
    assert matched(items, [other, items[7].question]) == [(1, "7", "question", 1.0)]
    assert matched(items[:1], [other])[0][:3] == (0, "0", "question")  # a set of one says nothing about what is rare


def test_an_item_that_is_all_template_is_counted_as_unmatchable():
    items = [Item(str(i), f"{TEMPLATE} {'abcdefghijklmnop'[i]}") for i in range(16)]
    assert build_index([("set@1", items)], Rule(n=13)).unmatched == {}  # the last n-gram of each is its own
    plain = [Item(str(i), TEMPLATE if i else prose(1, 20)) for i in range(16)]
    assert build_index([("set@1", plain)], Rule()).unmatched == {}  # a repeated item is one text, not a template


def test_a_phrase_of_many_documents_that_do_not_hold_the_item_does_not_count():
    phrase = "permission is hereby granted free of charge to any person obtaining a copy of this software"
    item = Item("licence", f"{phrase} {prose(1, 6)}")
    rule = Rule(template_documents=5)
    # 16 + 6 tokens, of which 0.9 - 0.3 * 14 / 42 = 0.8 are needed: the phrase alone is 16/22 and too little, with two own words it is 18/22.
    # Without it 13 tokens count, those of the n-grams with an own word; 9 of them are held, and 0.864 needed.
    near = f"{phrase} {prose(1, 2)} more"
    texts = [f"{prose(50 + i, 40)} {phrase} {prose(80 + i, 40)}" for i in range(6)]
    index = build_index([("set@1", [item])], rule)
    assert len(outcome(index, [near, *texts[:5]])) == 1  # five documents: not common yet
    assert outcome(index, [near, *texts]) == []
    assert [row["row_id"] for row in outcome(index, [item.question, *texts])] == ["0"]


def test_copies_of_a_leak_do_not_make_it_common():
    index = build_index([("set@1", [ITEM])], Rule(template_documents=5))
    assert len(outcome(index, [f"{prose(10 + i, 30)} {QUESTION}" for i in range(40)])) == 40


def outcome(index, texts, size=3):
    """Rows of ``FOUND`` as a job makes them: all matches, then those left without common phrases."""
    rows = pa.RecordBatch.from_pydict({
        "row_id": pa.array(map(str, range(len(texts))), pa.string()), "doc_id": pa.array(["d"] * len(texts), pa.string()), "text": pa.array(texts, pa.string()),
    })  # fmt: skip
    batches = (rows.slice(i, size) for i in range(0, len(texts), size))
    raw = pa.Table.from_batches(raw_batches(batches, index=lambda: index), schema=RAW).to_pylist()
    stray: dict[int, int] = {}
    for row in raw:
        if row["row_id"] is None:
            stray[row["gram"]] = stray.get(row["gram"], 0) + row["rows"]
    common = [gram for gram, seen in stray.items() if seen > index.rule.template_documents]
    held = pa.RecordBatch.from_pylist([row for row in raw if row["row_id"] is not None], schema=RAW)
    return pa.Table.from_batches(found_batches(iter([held]), index=lambda: index, common=common), schema=FOUND).to_pylist()


def test_spans_are_code_points_of_the_text_as_it_is():
    text = f"Préface — ﬁn 漢字. {QUESTION.upper()}! After."
    index = build_index([("set@1", [ITEM])], Rule())
    (row,) = outcome(index, [text])
    assert text[row["start"] : row["end"]] == QUESTION.upper()
    assert (row["matched_tokens"], row["item_tokens"], row["benchmark"], row["item_id"]) == (60, 60, "set@1", "q1")


def test_scripts_without_spaces_are_matched_by_code_points():
    item = Item("zh", "在一九八四年之前这座城市的人口一直没有超过三万人而后来迅速增长")
    assert matched([item], [f"前言。{item.question}。后记", "这座城市没有三万人"]) == [(0, "zh", "question", 1.0)]


def test_equal_hashes_of_unequal_tokens_are_no_hit():
    col = pa.array([QUESTION])
    held, _, offsets = token_hashes(col)
    grams = np.unique(shingle_hashes(col, 8)[0])
    others = np.arange(1, 9, dtype=np.uint64)  # the tokens that the table says these hashes have
    refs = np.zeros(len(grams), np.int32)
    assert len(find(held, offsets, 8, grams, refs, others)[0]) == 0
    assert len(Finder(8, grams, refs, others)(held, offsets)[0]) == 0


def test_ngrams_are_hashed_as_deduplication_hashes_shingles_and_never_over_the_end_of_a_row():
    col = pa.array([prose(1, 9), None, "one two three", "", prose(2, 8)])
    hashes, at = gram_hashes(*np_tokens(col), 8)
    wanted, bounds = shingle_hashes(col, 8)
    assert hashes.tolist() == [*wanted[: bounds[1]], *wanted[bounds[4] : bounds[5]]]  # the row of three words has a shingle, but no 8-gram
    assert at.tolist() == [0, 1, 12]


def np_tokens(col):
    held, _, offsets = token_hashes(col)
    return held, offsets


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="ab c", max_size=60), max_size=8), st.integers(2, 5))
def test_both_lookups_find_the_same(texts, n):
    held, offsets = np_tokens(pa.array(texts, pa.string()))
    known = np_tokens(pa.array(["a b a b a b c a a a a a a b c c b a c"]))
    hashes, at = gram_hashes(*known, n)
    grams, first = np.unique(hashes, return_index=True)
    plain = find(held, offsets, n, grams, at[first].astype(np.int32), known[0])
    compiled = Finder(n, grams, at[first].astype(np.int32), known[0])(held, offsets)
    assert [side.tolist() for side in plain] == [side.tolist() for side in compiled]


def test_more_hits_than_there_was_room_for_are_all_found():
    text = " ".join(f"{a} {b}" for a in "abcdefgh" for b in "ijklmnop") + " "
    held, offsets = np_tokens(pa.array([text * 200]))
    known = np_tokens(pa.array([text]))
    hashes, at = gram_hashes(*known, 8)
    grams, first = np.unique(hashes, return_index=True)
    found = Finder(8, grams, at[first].astype(np.int32), known[0])(held, offsets)
    assert len(found[0]) > 1 << 12
    assert found[0].tolist() == find(held, offsets, 8, grams, at[first].astype(np.int32), known[0])[0].tolist()


def test_a_text_that_repeats_one_word_a_million_times_is_searched_in_bounded_time():
    item = Item("a", " ".join(["buffalo"] * 200))
    index = build_index([("set@1", [item])], Rule())
    matcher = Matcher(index)
    assert len(matcher(pa.array(["buffalo " * 1_000_000])).found) == 1


def test_order_of_sets_and_items_and_batches_changes_nothing():
    items = [Item(str(i), prose(i, 30), solution=prose(200 + i, 30)) for i in range(6)]
    texts = [items[3].question, prose(90, 30), items[1].solution + " " + items[2].question, prose(91, 40)]
    one = build_index([("a@1", items[:3]), ("b@1", items[3:])], Rule())
    other = build_index([("b@1", items[:2:-1]), ("a@1", items[2::-1])], Rule())
    assert outcome(one, texts) == outcome(other, texts, size=1) == outcome(one, texts, size=100)
    assert [(r["row_id"], r["benchmark"], r["item_id"], r["part"]) for r in outcome(one, texts)] == [
        ("0", "b@1", "3", "question"), ("2", "a@1", "1", "answer"), ("2", "a@1", "2", "question"),
    ]  # fmt: skip


def test_items_planted_in_real_text_are_found_and_the_rest_of_the_same_texts_is_not(tmp_path):
    harvest(tmp_path, limit=60)
    from jobs.config import load_config
    from schemas.conf import Ingest
    from udfs.readers.read import read
    from udfs.readers.record import Record

    conf: Ingest = load_config().ingest
    texts = [r.text for path in sorted(tmp_path.iterdir()) for r in read(path, conf) if isinstance(r, Record)]
    blocks = [block for text in texts for block in text.split("\n\n") if 40 <= len(tokens(block)) <= 150]
    blocks = list(dict.fromkeys(blocks))
    items = [Item(str(i), block) for i, block in enumerate(blocks[::9])]
    rest = [block for i, block in enumerate(blocks) if i % 9]
    assert len(items) > 30
    rng = random.Random(7)

    def edited(text: str) -> str:
        words = text.split()
        for at in rng.sample(range(len(words)), max(1, len(words) // 25)):
            words[at] = "changed"
        return " ".join(words)

    matcher = Matcher(build_index([("set@1", items)], Rule()), "numpy")

    def caught(planted: list[str]) -> float:
        found = matcher(pa.array([f"{rng.choice(rest)}\n{text}\n{rng.choice(rest)}" for text in planted])).found
        pairs = {(m.row, int(matcher.index.item[m.field])) for m in found}
        order = {ident: k for k, ident in enumerate(matcher.index.item_ids)}
        return sum((row, order[item.item_id]) in pairs for row, item in enumerate(items)) / len(items)

    assert caught([item.question for item in items]) == 1.0
    assert caught([edited(item.question) for item in items]) >= 0.97


@pytest.mark.parametrize(
    "text",
    [
        "naïve cafe\u0301 ﬁne ﬀ ½ soft\u00adhyphen",
        "ไทยน้ำใจ ภาษา",
        "漢字。カﾞｷﾞ が",
        "\u1112\u1161\u11ab 한",
        "İstanbul straße",
        "\u0301x",
        "",
        "\x00a",
    ],
)
def test_every_token_of_the_normal_form_has_a_place_in_the_text(text):
    spans = original_spans(text)
    assert len(spans) == len(tokens(text))
    for token, (start, end) in zip(tokens(text), spans, strict=True):
        assert token in normalise(text[start:end])


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_places_rise_and_lie_in_the_text(text):
    spans = original_spans(text)
    assert len(spans) == len(tokens(text))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
