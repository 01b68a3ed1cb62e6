"""Versioned prompt templates, kept as TOML files in ``conf/prompts``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from schemas.errors import VerilakeError
from schemas.ids import content_id

#: Every template that verilake renders.
NAMES = ("answer_only", "reason_then_answer", "choice", "open_book", "format_json", "format_one_word", "format_unit")

_SLOT = re.compile(r"\{([a-z_]+)\}")


class TemplateError(VerilakeError):
    """A prompt template is missing, malformed, or was filled with the wrong values."""

    exit_code = 2

    @classmethod
    def from_name(cls, name: str, problem: str) -> TemplateError:
        """What is wrong with which file."""
        return cls(f"conf/prompts/{name}.toml: {problem}. A template has the keys name, version, system and text.")

    @classmethod
    def from_slots(cls, name: str, slots: set[str], given: set[str]) -> TemplateError:
        """Slots of the text and given values differ."""
        return cls(f"conf/prompts/{name}.toml has the slots {sorted(slots)} but was given {sorted(given)}.")


@dataclass(frozen=True, slots=True)
class Template:
    """One template; ``label`` (name@version) is what the tables record."""

    name: str
    version: int
    system: str
    text: str

    @property
    def label(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with its slots filled in one pass: braces inside a value stay what they are.

        Args:
            values: exactly one value for every slot.

        Raises:
            TemplateError: a slot without a value or a value without a slot.
        """
        slots = set(_SLOT.findall(self.text))
        if slots != set(values):
            raise TemplateError.from_slots(self.name, slots, set(values))
        return _SLOT.sub(lambda m: values[m.group(1)], self.text)


@lru_cache(maxsize=64)
def load(name: str) -> Template:
    """A template by name; read as package data, so that it comes out of a zip as well.

    Raises:
        TemplateError: no such file, not TOML, or keys missing or of the wrong type.
    """
    try:
        raw = tomllib.loads(resources.files("conf").joinpath("prompts", f"{name}.toml").read_text("utf-8"))
    except FileNotFoundError as error:
        raise TemplateError.from_name(name, "no such file") from error
    except tomllib.TOMLDecodeError as error:
        raise TemplateError.from_name(name, str(error)) from error
    if set(raw) != {"name", "version", "system", "text"} or raw["name"] != name or not isinstance(raw["version"], int):
        raise TemplateError.from_name(name, f"found the keys {sorted(raw)} and the name {raw.get('name')!r}")
    return Template(name, raw["version"], str(raw["system"]), str(raw["text"]))


def template_versions() -> dict[str, str]:
    """``name@version`` -> hash of system and text; part of the fingerprint of every job that renders."""
    return {t.label: content_id(t.system, t.text) for t in map(load, NAMES)}
