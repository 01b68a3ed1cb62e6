"""Numbers in digits and in words, by language: values are those that a speaker reads."""

from __future__ import annotations

from fractions import Fraction

import pytest

from udfs.probes.number_words import numbers
from udfs.probes.spelling import spell


def values(text, language):
    return [set(stated.values) for stated in numbers(text, language).stated]


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("en", "three hundred and eight", 308), ("en", "5 million", 5_000_000), ("en", "two hundred thousand", 200_000), ("en", "two thousand three hundred", 2300),
        ("de", "dreihundertacht", 308), ("de", "einundzwanzig", 21), ("de", "zweitausendsechzehn", 2016), ("de", "neunzehnhundertfünfundvierzig", 1945),
        ("nl", "drieëntwintig", 23), ("es", "treinta y tres", 33), ("es", "mil novecientos cuarenta y cinco", 1945), ("pt", "trinta e três", 33),
        ("it", "trecentotto", 308), ("it", "ventitré", 23), ("fr", "quatre-vingt-dix-sept", 97), ("fr", "soixante et onze", 71), ("ro", "treizeci și trei", 33),
        ("ro", "trei sute opt", 308), ("ru", "тридцать три", 33), ("ru", "двух тысяч", 2000), ("ru", "трёх", 3), ("el", "τριακόσια οκτώ", 308),
        ("tr", "üç yüz sekiz", 308), ("tr", "bin dokuz yüz kırk beş", 1945), ("vi", "hai mươi mốt", 21), ("vi", "ba trăm linh tám", 308), ("vi", "mười lăm", 15),
        ("ar", "ثلاثة وعشرون", 23), ("ar", "ثلاثمائة وثمانية", 308), ("ar", "خمسة عشر", 15), ("hi", "तीन सौ आठ", 308), ("hi", "सैंतीस", 37),
        ("th", "สามร้อยแปด", 308), ("th", "ยี่สิบเอ็ด", 21), ("zh", "三百零八", 308), ("zh", "二十三万", 230_000), ("zh", "一九四五", 1945), ("zh", "5万", 50_000),
        ("ja", "百二十", 120), ("ko", "삼백팔", 308), ("en", "1,500", 1500), ("de", "1.500", 1500), ("fr", "1 500", 1500), ("de", "3,5", Fraction(7, 2)),
        ("hi", "३०८", 308), ("ar", "٣٠٨", 308), ("th", "๓๐๘", 308), ("zh", "３０８", 308),
    ],
)  # fmt: skip
def test_a_number_is_read_in_digits_and_in_words(language, text, value):
    (only,) = values(text, language)
    assert value in only
    assert numbers(text, language).rest == ()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "2,000 men", [{2000}]),  # grouped, not two with three decimals
        ("en", "one hundred cats, twenty-four dogs", [{100}, {24}]),
        ("en", "nineteen forty-five", [{19}, {1945}, {45}]),
        ("vi", "hai mươi năm", [{20}, {5}]),  # twenty years: 25 is hai mươi lăm
        ("th", "สามารถ", []),  # "can", which begins like three
        ("zh", "一些人", []),  # some people
        (None, "twenty 7", [{7}]),  # no language: digits alone
        ("xx", "vingt 7", [{7}]),
        ("en", "", []),
        ("en", "9" * 50, []),  # no number to compare
    ],
)
def test_what_is_several_numbers_or_none(language, text, expected):
    assert values(text, language) == expected


@pytest.mark.parametrize("language", ["en", "de", "nl", "es", "pt", "ro", "ru", "el", "tr", "vi", "ar", "hi", "th", "zh", "ja"])
def test_what_is_spelt_is_read_again(language):
    for value in range(2, 100):
        spelt = spell(value, language)
        assert spelt is not None, value
        assert any(value in found for found in values(spelt, language)), (value, spelt)
    assert spell(100, language) is None
    assert spell(7, None) is None
