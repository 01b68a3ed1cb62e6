"""The language of documents."""

from __future__ import annotations

import pyarrow as pa

from udfs.language.model import UNDETERMINED, LanguageModel
from udfs.language.scripts import letters_by_script
from udfs.text.buffers import text_buffer

#: Version of what is done around the model, written beside its name.
LANGUAGE_SCHEME = "language/v1"

#: Bytes of a text that are looked at, from its start: a model takes 0.2 ms for them on one core, and they are some 170 words.
SAMPLE_BYTES = 1024

#: A text with fewer letters in the sample is too short to tell, and one whose commonest script has a smaller share of them is
#: written in several.
MIN_LETTERS, MIN_SCRIPT_SHARE = 16, 0.7

LANGUAGE = pa.schema([("language", pa.string()), ("language_score", pa.float64())])


def language_of(raw: bytes, model: LanguageModel) -> tuple[str, float]:
    """Language of a UTF-8 text and the model's probability, rounded to six digits.

    (``und``, 0) where the sample has too few letters or letters of several scripts. The last word of a cut sample counts with the letters
    that are left of it.
    """
    sample = raw[:SAMPLE_BYTES].decode("utf-8", "replace" if len(raw) <= SAMPLE_BYTES else "ignore")
    letters, commonest = letters_by_script(sample)
    if letters < MIN_LETTERS or commonest < MIN_SCRIPT_SHARE * letters:
        return UNDETERMINED, 0.0
    # Labels of capitals alone are guessed badly, and white space is no evidence: a line of a table is not another language.
    line = " ".join(sample.split())
    language, score = model.predict(line.lower() if line.isupper() else line)
    return language, round(score, 6)


def languages(column: pa.Array | pa.ChunkedArray, model: LanguageModel) -> pa.RecordBatch:
    """Language of every row of a text column, columns as in ``LANGUAGE``; null counts as empty."""
    text = text_buffer(column)
    rows = [language_of(text.data[s : min(e, s + SAMPLE_BYTES + 1)].tobytes(), model) for s, e in zip(text.starts, text.ends, strict=True)]
    names, scores = [name for name, _ in rows], [score for _, score in rows]
    return pa.RecordBatch.from_arrays([pa.array(names, pa.string()), pa.array(scores, pa.float64())], schema=LANGUAGE)
