from __future__ import annotations

import pytest

from udfs.extract.leak import leaks, stem


@pytest.mark.parametrize(
    ("answer", "prompt", "word"),
    [
        ("compile_command", "Compile a command and say whether it is complete.", "compile"),  # the words themselves
        ("compile_command", "Which function compiles?", "compile"),  # by stem
        ("Tokenizer", "Which class of `tokenize` splits text?", "tokenizer"),  # by stem: both are token-
        ("BaseHTTPRequestHandler", "What is the base of SimpleHTTPRequestHandler?", "http"),  # by part of camel case
        ("filename", "Return the name of the file.", "filename"),  # a prompt word inside the answer
        ("pump", "The waterpumps run.", "pump"),  # the answer inside a prompt word
        ("1939", "History of 1939: when did it begin?", "1939"),
        ("1,500", "It holds 1500 of them.", "1500"),  # grouping does not hide it
        ("3", "The three pumps stand in ____ rows.", "3"),  # spelled out
        ("utf-8", "The 8 bits of it", None),  # one digit beside a word says nothing
        ("3.8", "Changed in version 3.8 and ____", "3.8"),
        ("3 September 1939", "What happened in September?", "september"),
        ("with", 'The "with" statement', "with"),  # a stop word as the whole answer is still given away
        ("utf-8", "Eight bits, as in utf8", "utf"),
    ],
)
def test_leaks(answer, prompt, word):
    assert leaks(answer, prompt) == word


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        ("ValueError", "Which class is the base of `pumps.PumpError`?"),  # Error is shared by hundreds
        ("'single'", "What is the default value of the parameter `symbol`?"),
        ("3", "It has 13 rows and 3.5 columns."),  # whole numbers only
        ("12 May 1901", "Of the 12 boats, when did the last one sink?"),  # a day number says nothing
        ("tar", "The target is near."),  # three letters inside a word are chance
        ("Bank of Scotland", "What of it?"),  # stop words do not count beside others
        ("1", "Answer in one word."),
        ("...", "anything"),
        ("x", ""),
    ],
)
def test_does_not_leak(answer, prompt):
    assert leaks(answer, prompt) is None


@pytest.mark.parametrize(
    ("word", "root"), [("running", "run"), ("compiled", "compil"), ("compile", "compil"), ("is", "is"), ("cities", "cit")]
)
def test_stem(word, root):
    assert stem(word) == root
