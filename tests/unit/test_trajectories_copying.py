"""Copied prompts: what is a copy, and what only looks like one."""

from __future__ import annotations

import pytest

from udfs.text.tokens import tokens
from udfs.trajectories.copying import MIN_WORDS, Source, copied_share

INSTRUCTION = "Read the question and give one short answer on the last line of your response, as Answer: followed by the answer itself."
PASSAGE = (
    "The station was opened in March 1896 by the northern railway company and stayed in use until the last regular train left it "
    "on a rainy evening in 1964. Its roof of glass and iron was taken down and rebuilt in the museum garden, where it stands today."
)
QUESTION = "Where does the roof of the station stand today?"
PROMPT = f"{INSTRUCTION}\n\n{PASSAGE}\n\n{QUESTION}"
OPEN_BOOK = Source.of(PROMPT, PASSAGE)


@pytest.mark.parametrize(
    ("response", "share"),
    [
        (INSTRUCTION, 1.0),
        (INSTRUCTION.upper(), 1.0),  # case and punctuation do not hide a copy
        (f"{INSTRUCTION} Yes", 22 / 23),
        (PASSAGE, 1.0),
        ("Answer: the museum garden", None),
        (PASSAGE[:60], None),  # below MIN_WORDS: an answer, however it came about
        (f"The passage says: {PASSAGE} Answer: the museum garden", None),  # quoting before answering is reasoning
        ("It was taken to pieces and put up again in the garden of the museum, and there people can still walk below it.", None),
        ("", None),
    ],
)
def test_copies(response, share):
    assert copied_share(response, OPEN_BOOK) == (None if share is None else pytest.approx(share))


def test_the_derivation_of_the_share():
    assert len(tokens(INSTRUCTION)) == 22
    assert len(tokens(PASSAGE[:60])) < MIN_WORDS


def test_a_long_option_is_a_legitimate_answer():
    option = "it was taken down and rebuilt in the garden of the museum where the visitors still walk below its glass today"
    prompt = f"{QUESTION}\nA. {option}\nB. it was sold for scrap"
    assert copied_share(f"Answer: A. {option}", Source.of(prompt, None, [option, "it was sold for scrap"])) is None
    assert copied_share(f"Answer: A. {option}", Source.of(prompt, None)) is not None  # without knowing the options it would be one


def test_short_options_do_not_mangle_the_prompt():
    assert copied_share(INSTRUCTION, Source.of(PROMPT, PASSAGE, ["a", "e"])) == 1.0


def test_scripts_without_spaces():
    prompt = "請閱讀以下問題並且在回答的最後一行寫下你的簡短答案謝謝合作"
    assert copied_share(prompt, Source.of(prompt, None)) == 1.0
    assert copied_share("這是一個完全不同而且足夠長的回答用來確認沒有誤判發生", Source.of(prompt, None)) is None


def test_time_is_linear():
    source = Source.of("word " * 50_000, None)
    assert copied_share("word " * 50_000, source) == 1.0
