"""Quotes found again, answers within them, offsets in code points."""

from __future__ import annotations

import pytest

from tests.conversions import checked, document, filtered, generated, identified, run, script
from udfs.conversion.chain import convert
from udfs.conversion.drive import drive
from udfs.conversion.passage import Passage, stands_alone
from udfs.conversion.recipe import Recipe

NFD = "Le cafe\u0301 de Flore, fonde\u0301 en 1887, est a\u0300 Paris."
CRLF = "The bridge\r\nwas opened\r\n\r\nin May 1937 — with 200,000 guests."
ASTRAL = "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 🌍 names U+1F30D “Earth Globe Europe-Africa”; 𝒳 is a letter."


@pytest.mark.parametrize(
    ("passage", "quote", "found"),
    [
        pytest.param("one two", "two", "two", id="exact"),
        pytest.param(CRLF, "bridge was opened in May 1937", "bridge\r\nwas opened\r\n\r\nin May 1937", id="line breaks"),
        pytest.param(CRLF, "May 1937 - with", "May 1937 — with", id="a dash"),
        pytest.param(ASTRAL, '"Earth Globe Europe-Africa"', "“Earth Globe Europe-Africa”", id="quotes behind astral signs"),
        pytest.param(ASTRAL, "𝒳 is a letter", "𝒳 is a letter", id="astral"),
        pytest.param(NFD, "café de Flore, fondé en 1887", "cafe\u0301 de Flore, fonde\u0301 en 1887", id="NFC in NFD"),
        pytest.param("fondé en", "fonde\u0301 en", "fondé en", id="NFD in NFC"),
        pytest.param("soft\u00adware\u200b and more", "software and", "soft\u00adware\u200b and", id="invisible code points"),
        pytest.param("the ﬁrst oﬃce…", "first office...", "ﬁrst oﬃce…", id="ligatures and ellipsis"),
        pytest.param("東京は日本の首都である。", "日本の首都", "日本の首都", id="no spaces"),
        pytest.param(NFD, "cafe", None, id="not without its accent"),
        pytest.param("One two", "one two", None, id="not in another case"),
        pytest.param("x² + y", "x2 + y", None, id="a square is no two"),
        pytest.param("one two", "one  three", None, id="not there"),
        pytest.param("one two", " \n", None, id="empty"),
    ],
)
def test_a_quote_is_found_letter_by_letter_or_by_its_look(passage, quote, found):
    span = Passage(passage).find_quote(quote)
    assert (None if span is None else passage[slice(*span)]) == found


@pytest.mark.parametrize(
    ("text", "words", "alone"),
    [
        ("in 1937.", "1937", True), ("1.5 km", "5", False), ("1,500", "500", False), ("1,500", "1", False), ("at -5 K", "5", False), ("3-5 m", "5", True),
        ("catalogue", "cat", False), ("the cat.", "cat", True), ("x_1", "x", False), ("于1937年建成", "1937", True), ("位于北京市", "北京", True), ("H2O", "2", False),
    ],
)  # fmt: skip
def test_an_answer_is_no_part_of_a_word_or_number(text, words, alone):
    at = text.index(words)
    assert stands_alone(text, at, at + len(words)) is alone


def evidence_of(text: str, **changes: object) -> tuple[str, str | None, str | None]:
    """Reason or ``passed``, the evidence, the answer's place, of one generated candidate."""
    conversion, _ = run(script(generated(**changes)), document(text, title=None))
    (state,) = [s for s in conversion.states if s.stage == "evidence"]
    (item,) = conversion.items
    spans = [text[item[f"{name}_start"] : item[f"{name}_end"]] or None for name in ("evidence", "answer")]
    return state.reason, *spans


@pytest.mark.parametrize(
    ("text", "changes", "reason", "place"),
    [
        pytest.param(NFD, {"evidence": ["café de Flore, fondé en 1887"], "answer": "1887", "answer_type": "date"}, "passed", "1887", id="NFD"),
        pytest.param(CRLF, {"evidence": ["in May 1937 - with 200,000 guests"], "answer": "200000", "answer_type": "number"}, "passed", "200,000", id="digits grouped"),
        pytest.param(ASTRAL, {"evidence": ["names U+1F30D"], "answer": "U+1F30D"}, "passed", "U+1F30D", id="astral before"),
        pytest.param("Of the two, Mercury is HOT.", {"evidence": ["Mercury is HOT"], "answer": "mercury"}, "passed", "Mercury", id="case of a name"),
        pytest.param("It was the 3 March 1998.", {"evidence": ["the 3 March 1998"], "answer": "1998-03-03", "answer_type": "date"}, "passed", "3 March 1998", id="ISO for a date"),
        pytest.param("There are twelve eggs.", {"evidence": ["twelve eggs"], "answer": "12", "answer_type": "number"}, "passed", "twelve", id="a number word"),
        pytest.param("It cost 1.5 million euros.", {"evidence": ["cost 1.5 million"], "answer": "1.5", "answer_type": "number"}, "answer_not_in_evidence", None, id="not the magnitude's number"),
        pytest.param("It cost 1.5 million euros.", {"evidence": ["cost 1.5 million"], "answer": "1500000", "answer_type": "number"}, "passed", "1.5 million", id="a magnitude"),
        pytest.param("Red, then green and blue.", {"evidence": ["Red, then green and blue"], "answer": "red, green, blue", "answer_type": "list"}, "answer_not_in_evidence", None, id="a list with other words between"),
        pytest.param("It is red, green, and blue.", {"evidence": ["red, green, and blue"], "answer": "red, green and blue", "answer_type": "list"}, "passed", "red, green, and blue", id="a list"),
        pytest.param("It is red, green, and blue.", {"evidence": ["red, green, and blue"], "answer": "blue, red, green", "answer_type": "unordered_list"}, "passed", "red, green, and blue", id="in any order"),
        pytest.param("It is red, green, and blue.", {"evidence": ["red, green, and blue"], "answer": "blue, red, green", "answer_type": "list"}, "answer_not_in_evidence", None, id="in another order"),
        pytest.param("It was in 1950.", {"evidence": ["in 1950"], "answer": "5", "answer_type": "number"}, "answer_not_in_evidence", None, id="a digit of a year"),
        pytest.param("A b. C d. E f.", {"evidence": ["A b.", "E f."], "answer": "f"}, "passed", "f", id="in the second quote"),
        pytest.param("A b. C d. E f.", {"evidence": ["A b.", "E f."], "answer": "d"}, "answer_not_in_evidence", None, id="between the quotes"),
        pytest.param("A b.", {"evidence": [], "answer": "b"}, "no_evidence", None, id="no quote"),
        pytest.param("x " * 3000 + "A b.", {"evidence": ["x x", "A b."], "answer": "b"}, "evidence_too_long", None, id="quotes far apart"),
    ],
)  # fmt: skip
def test_where_the_answer_stands(text, changes, reason, place):
    assert evidence_of(text, **changes)[::2] == (reason, place)


@pytest.mark.parametrize("length", [30_000, 3_000_000], ids=["long", "a hundred times as long"])
def test_readers_of_a_long_document_see_different_passages(length):
    paragraph = "Paragraph {} tells of the town of Place{}, and goes on.\n\n"
    text = "".join(paragraph.format(i, i) for i in range(length // 60))
    seen = []

    def answer(ask):
        if ask.stage != "generate":
            return {"filter": filtered(), "identify": identified("a", "b", "c"), "check": checked()}[ask.stage]
        shown = ask.values["passage"]
        seen.append(shown)
        number = shown[shown.index("Paragraph", len(shown) // 2) :].split()[1]
        return generated(
            evidence=[f"the town of Place{number}"], answer=f"Place{number}", question=f"Of which town tells paragraph {number}?"
        )

    conversion = drive(convert(document(text), Recipe(max_chars=2000)), answer)
    assert len(set(seen)) == 3
    assert all(len(shown) < 2100 for shown in seen)
    assert [item["filter_reason"] for item in conversion.items] == [None] * 3
    for item in conversion.items:
        assert text[item["answer_start"] : item["answer_end"]] == item["answer"]
    # Cut between paragraphs: below the title stands the first line of one.
    assert all(shown.split("\n\n")[1].startswith("Paragraph ") for shown in seen)
