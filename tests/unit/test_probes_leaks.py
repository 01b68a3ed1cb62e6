"""What gives an answer away and what does not, by language and kind."""

from __future__ import annotations

import pytest

from udfs.probes.leaks import leak

TOLD = [
    ("en", "Is Ada Quill the builder of the tower?", "Ada Quill", "verbatim"), ("en", "Who of the QUILLS built it?", "Quill", "inflected"),
    ("en", "How many steps, three hundred and eight or so, are there in all?", "308", "number"), ("en", "Were the 24 keepers paid?", "twenty-four", "number"),
    ("en", "What is written with ++?", "++", "verbatim"), ("en", "Which 12 men met?", "12 men", "verbatim"), ("en", "How many of the twelve met?", "12 men", "number"),
    ("de", "Wem gehörten Großmanns Felder?", "Großmann", "inflected"), ("de", "War es GROSSMANN?", "Großmann", "verbatim"), ("de", "Die zwölf Mönche?", "12", "number"),
    ("es", "¿Los robles de quién?", "roble", "inflected"), ("es", "¿Cuáles dieciséis arcos?", "16", "number"), ("fr", "Les quatre-vingt-dix tonnes ?", "90", "number"),
    ("ro", "Ce face meșterul?", "meșter", "inflected"), ("ru", "Что было в музее Лебедевой?", "Лебедева", "inflected"), ("ru", "Почему двадцати четырёх?", "24", "number"),
    ("el", "Τι έκανε ο Δαμιανός;", "Δαμιανού", "inflected"), ("el", "Ποιες ενενήντα θέσεις;", "90", "number"), ("tr", "IŞIK'ın kalesi nerede?", "ışık", "verbatim"),
    ("tr", "Hangi on iki kule?", "12", "number"), ("vi", "Hai mươi mốt bậc nào?", "21", "number"), ("ar", "من زار المكتبة؟", "مكتبة", "inflected"),
    ("ar", "ما هي الثلاثة والعشرون؟", "٢٣", "number"), ("ar", "أين ثلاثة وعشرون رفا؟", "٢٣", "number"), ("hi", "सैंतीस फाटक कहाँ हैं?", "३७", "number"),
    ("hi", "मीरा तलवार कौन थी?", "मीरा तलवार", "verbatim"), ("th", "เสายี่สิบเอ็ดต้นอยู่ที่ใด", "๒๑", "number"), ("th", "มาลี ทองสุขคือใคร", "มาลี ทองสุข", "verbatim"),
    ("zh", "三十六张桌子在哪里？", "36", "number"), ("zh", "沈知秋是谁？", "沈知秋", "verbatim"), ("ja", "十二台の望遠鏡とは？", "12", "number"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "question", "answer", "kind"), TOLD)
def test_a_whole_answer_is_told_in_any_form(language, question, answer, kind):
    found = leak(question, answer, language)
    assert (found.kind, found.alternative) == (kind, False)


@pytest.mark.parametrize(
    ("language", "question", "answer"),
    [
        ("en", "Which prize did she win?", "the Nobel Prize"), ("en", "How many steps are there?", "308 steps"), ("en", "What art is shown?", "party"),
        ("en", "Who came in 1995?", "95"), ("en", "What happened in the 2nd century?", "2,000"), ("de", "Wie viele Tage dauerte es?", "12 Tage"),
        ("vi", "Kéo dài bao nhiêu năm?", "5 năm"),  # năm is five, and year
        ("zh", "第四个尺度是什么？", "第四纪"), ("th", "สามารถเดินได้กี่วัน", "3 วัน"), ("ru", "Кто основал город?", "Иван Городецкий"),
    ],
)  # fmt: skip
def test_shared_words_are_no_leak(language, question, answer):
    assert leak(question, answer, language).kind is None


def test_overlap_is_the_share_of_the_answers_words():
    assert leak("Which prize did she win?", "Nobel Prize", "en").overlap == 0.5
    assert leak("Which prizes did she win?", "Nobel Prize", "en").overlap == 0.5  # prizes is a form of prize
    assert leak("Who won?", "Nobel Prize", "en").overlap == 0.0


@pytest.mark.parametrize(
    ("language", "question", "answer", "alternative"),
    [
        ("en", "Was it red or green?", "green", True), ("en", "Was it red or green? (green)", "green", False), ("en", "Was it red or green?", "red", True),
        ("en", "Which came first, war between Rome and Gaul?", "Gaul", True), ("en", "Between us, is it Rome?", "Rome", False),
        ("de", "War es rot oder grün?", "grün", True), ("es", "¿Era rojo o verde?", "verde", True), ("ru", "Он был красным или зелёным?", "зелёным", True),
        ("el", "Ήταν κόκκινο ή πράσινο;", "πράσινο", True), ("tr", "Kırmızı mı yoksa yeşil mi?", "yeşil", True), ("vi", "Màu đỏ hay xanh?", "xanh", True),
        ("ar", "هل هو أحمر أم أخضر؟", "أخضر", True), ("hi", "लाल या हरा?", "हरा", True), ("th", "สีแดงหรือสีเขียว", "สีเขียว", True), ("zh", "是红色还是绿色？", "绿色", True),
        (None, "War es rot oder grün?", "grün", True),
    ],
)  # fmt: skip
def test_an_alternative_that_a_question_offers_is_no_leak_by_itself(language, question, answer, alternative):
    found = leak(question, answer, language)
    assert (found.kind, found.alternative) == ("verbatim", alternative)
