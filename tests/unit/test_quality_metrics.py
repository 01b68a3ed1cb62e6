from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from schemas.conf import Curate
from schemas.silver.document_profiles import DOCUMENT_PROFILES
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

# text, then some of the other figures, derived by hand
WEB = [
    ("", {"n_lines": 0, "n_paragraphs": 0, "newline_ratio": 0.0, "terminal_line_share": 0.0, "alpha_word_share": 0.0, "n_stop_words": 0}),
    # 2 line feeds, no word: a share of nothing is 0
    ("\n\n", {"n_lines": 0, "newline_ratio": 0.0}),
    # 4 fields, 2 with a letter; 3 words (a, 1, b2); one hash
    ("a 1 b2 #", {"alpha_word_share": 0.5, "hash_ratio": 1 / 3}),
    # six dots are two ellipses, seven still are, and the one-character form is one more; 2 words
    ("a ...... b\u2026", {"ellipsis_ratio": 3 / 2, "ellipsis_line_share": 1.0}),
    # lines: "- x", "\u2022 y", "z...", "w": two bullets, one ellipsis of four; 3 line feeds over 4 words; all are short
    ("- x\n \u2022 y\nz...\nw", {"bullet_line_share": 0.5, "ellipsis_line_share": 0.25, "newline_ratio": 0.75, "short_line_share": 1.0}),
    # a full stop, a quotation mark, a full stop before citations, nothing: three of four lines are finished
    ('A b.\nHe said "no."\nA fact.[1] [citation needed]\nMenu', {"terminal_line_share": 0.75}),
    # a bracket that is no citation is no mark
    ("See this [x1]\nAnd [1", {"terminal_line_share": 0.0}),
    # 30 code points are short, 31 are not; 200 are long, 199 are not
    ("a" * 30 + "\n" + "a" * 31 + "\n" + "a" * 199 + "\n" + "a" * 200, {"short_line_share": 0.25, "n_long_lines": 1}),
    # paragraphs "ab|c", "ab|c", "ab": the second repeats the first: 3 of 8 code points; lines ab c ab c ab: 3 of 5 repeat
    (
        "ab\nc\n\nab\nc\n \nab",
        {"n_paragraphs": 3, "repeated_paragraph_share": 1 / 3, "dup_paragraph_share": 3 / 8, "n_lines": 5, "repeated_line_share": 3 / 5},
    ),
    # "x y" three times of 10 words: 2-gram (x y) 3 times 2 chars of 10; no 3-gram twice but (x y z)? z stands once only
    ("x y a x y b x y c d", {"top_2gram_share": 6 / 10, "top_3gram_share": 0.0, "top_4gram_share": 0.0}),
    # of the 2-grams that occur twice the longest counts: "aaaa bb" 2 * 6 of 2*6 + 2*2 + 3 = 19 chars of words
    ("aaaa bb 1 c d 2 aaaa bb 3 c d", {"top_2gram_share": 12 / 19}),
    # equal words overlap themselves: never more than the whole
    ("x x x x x x", {"top_2gram_share": 1.0, "top_4gram_share": 1.0}),
    # ab x6 once, then again: the second six words lie in 5-grams and a 6-gram that occurred before, no 7-gram does
    ("a b c d e f 1 a b c d e f", {"dup_5gram_chars": 6 / 13, "dup_6gram_chars": 6 / 13, "dup_7gram_chars": 0.0}),
    # twelve words and the same again: the second half, whatever n up to 10
    ("a b c d e f g h i j k l a b c d e f g h i j k l", {f"dup_{n}gram_chars": 0.5 for n in range(5, 11)}),
    # the, of, and: three; repeats count once, case does not count
    ("The cat of the THE and", {"n_stop_words": 3}),
    ("{ a { b", {"n_braces": 2}),
    # within a word it is none
    ("Lorem Ipsum dolor. xlorem ipsum", {"n_lorem_ipsum": 1}),
    # two sentences and an unfinished third, in a line without a last mark
    ("One is. Two are! and three", {"n_sentences": 3, "n_full_sentences": 0}),
    # quotation marks may follow; an abbreviation's stop counts, a number's does not
    ('He said "go." Then 3.14 came.', {"n_sentences": 2, "n_full_sentences": 2}),
    # too few fields; a notice; an ellipsis at the end; a word of 1001
    ("Two words.", {"n_sentences": 0}),
    ("Please enable JavaScript here.\nWe value your Privacy Policy now.\nA good line here.", {"n_sentences": 1}),
    ("And so it goes on...", {"n_sentences": 1, "n_full_sentences": 0}),
    ("a b c " + "y" * 1001 + ".", {"n_sentences": 0}),
    # Chinese writes no space after its full stops
    ("\u6211\u7231\u4f60\u3002 \u4f60\u597d\u3002\u597d\uff01 \u597d\u3002", {"n_sentences": 4, "n_full_sentences": 4}),
]


STOPS = {"en": ["the", "be", "to", "of", "and", "that", "have", "with"]}


@pytest.mark.parametrize("kernel", ["numba", "numpy"])
def test_golden_figures(kernel):
    found = document_metrics(pa.array([row[0] for row in GOLDEN]), kernel)
    for row, figures in zip(GOLDEN, found.to_pylist(), strict=True):
        assert list(figures.values())[:7] == pytest.approx(list(row[1:])), row[0]


@pytest.mark.parametrize("kernel", ["numba", "numpy"])
def test_golden_figures_of_gopher_c4_and_fineweb(kernel):
    found = document_metrics(pa.array([text for text, _ in WEB]), kernel, STOPS, ["en"] * len(WEB)).to_pylist()
    for (text, wanted), figures in zip(WEB, found, strict=True):
        assert {name: figures[name] for name in wanted} == pytest.approx(wanted), text


#: What the two implementations could disagree about: marks, white space, citations, phrases, letters that fold, repeated passages.
PIECES = [
    "the", "be", "to", "of", "a", "b", "cat", ".", "...", "…", "!", "?", "#", "{", "}", "•", "-", "[1]", "[edit]", "[]", "]", "[", "JavaScript", "xjavascript", "é", "ſ", "K", "1234", "́", "(", ")", '"', "'", "’", "\x00", "我", "你", "。", "！", "😀",
    " ", " ", "\n", "\n", "\n\n", "\t", "\u3000", "\x1c", "\x85", "\u2028", "\r\n", " [2]", "[citation needed]", "\u00e9use cookies", "use of cookies", "Uses Cookies",
    "lorem ipsum", "Lorem  ipsum", "privacy policy", "x" * 40, "y" * 1001, "word word word again and again", "the same line here.\n",
]  # fmt: skip


def test_compiled_and_plain_agree_to_the_bit():
    rng = random.Random(7)
    texts = ["".join(rng.choice(PIECES) + rng.choice(["", " "]) for _ in range(rng.randint(0, 150))) for _ in range(400)]
    languages = [rng.choice(["en", "de", None]) for _ in texts]
    stops = {**STOPS, "fr": ["le", "de"]}
    compiled = document_metrics(pa.array(texts), "numba", stops, languages)
    assert compiled.equals(document_metrics(pa.array(texts), "numpy", stops, languages))
    assert compiled.column("n_sentences").to_numpy().sum() > 100


def test_stop_words_are_counted_only_where_the_language_has_a_list():
    found = document_metrics(pa.array(["the of", "the of", "the of", "le la"]), "numpy", {**STOPS, "fr": ["le"]}, ["en", "de", None, "fr"])
    assert found.column("n_stop_words").to_pylist() == [2, None, None, 1]
    assert document_metrics(pa.array(["the"])).column("n_stop_words").to_pylist() == [None]


def test_null_counts_as_empty_and_slices_do_not_shift():
    rows = ["zzz zzz", None, "The cat the.", "\u6211\u7231"]
    found = document_metrics(pa.array(rows, pa.large_string())[1:]).to_pylist()
    assert found == document_metrics(pa.array(["", *rows[2:]])).to_pylist()


def test_empty_batch_keeps_the_schema():
    assert document_metrics(pa.array([], pa.string())).schema == METRICS


@pytest.mark.timeout(60)
def test_huge_documents_take_bounded_time():
    # Five million words in a cycle of 1,000: 1,000 distinct five-grams of 4,999,996; each word 1 in 1,000.
    words = " ".join([f"w{i}" for i in range(1000)] * 5000)
    found = document_metrics(pa.array([words, "x" * 50_000_000, "\n" * 5_000_000, "\0" * 5_000_000])).to_pylist()
    assert found[0]["n_words"] == 5_000_000
    assert found[0]["top_word_share"] == pytest.approx(0.001)
    assert found[0]["dup_5gram_share"] == pytest.approx(4_998_996 / 4_999_996)
    assert found[0]["dup_10gram_chars"] == pytest.approx(0.9998, abs=1e-6)  # all but the first cycle
    assert (found[1]["n_words"], found[1]["mean_word_length"], found[1]["dup_line_share"]) == (1, 50_000_000.0, 0.0)
    assert (found[2]["n_chars"], found[2]["n_words"], found[2]["dup_line_share"]) == (5_000_000, 0, 0.0)
    assert (found[3]["symbol_ratio"], found[3]["n_lines"], found[3]["alpha_word_share"]) == (1.0, 1, 0.0)


@pytest.mark.parametrize("kernel", ["numba", "numpy"])
def test_invalid_utf8_is_measured_not_refused(kernel):
    # a cut sequence is one U+FFFD; a surrogate in three bytes is three
    found = document_metrics(pa.array([b"ab\xff", b"plain", b"\xed\xa0\x80x\n\xe2\x82"], pa.binary()), kernel).to_pylist()
    assert (found[0]["n_chars"], found[0]["n_words"], found[0]["symbol_ratio"]) == (3, 1, pytest.approx(1 / 3))
    assert (found[1]["n_chars"], found[2]["n_chars"], found[2]["n_lines"]) == (5, 6, 2)


def test_columns_and_rules_match_the_contract():
    assert all(DOCUMENT_PROFILES.schema.field(f.name).type == f.type for f in METRICS)
    assert set(METRICS.names[:7]) <= set(DOCUMENTS.schema.names)
    assert set(RULES) == set(Curate.model_fields["rules"].annotation.__args__[0].__args__)
    for preset, rules in RULES.items():
        section = Curate if preset == "basic" else Curate.model_fields[preset].annotation
        assert {rule.metric for rule in rules} <= set(METRICS.names)
        assert {rule.threshold for rule in rules} <= set(section.model_fields)
        if preset != "basic":
            assert {rule.threshold for rule in rules} == set(section.model_fields), "a setting that no rule reads says nothing"
    reasons = [rule.reason for rules in RULES.values() for rule in rules]
    assert len(set(reasons)) == len(reasons)


def test_figures_do_not_depend_on_the_batch():
    rows = [row[0] for row in [*GOLDEN, *WEB]] * 3
    order = np.random.default_rng(5).permutation(len(rows)).tolist()
    whole = document_metrics(pa.array(rows)).to_pylist()
    assert document_metrics(pa.array([rows[i] for i in order])).to_pylist() == [whole[i] for i in order]
