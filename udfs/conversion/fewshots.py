"""Examples for the generator, by domain; which a document is shown follows from its id."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import islice, permutations
from types import MappingProxyType
from typing import Any

from schemas.errors import VerilakeError
from schemas.ids import canonical_json, content_id, seed_from
from udfs.prompts.passages import quote

_FILE = "convert_fewshots"
#: The reply of an example, in the order in which it is asked for.
FIELDS = ("evidence", "question", "answer", "answer_type", "unit", "aliases", "computation")
_DEFAULTS: dict[str, Any] = {"unit": None, "aliases": [], "computation": None}
#: Orders of a domain's examples that are told apart.
_MOST_ORDERS = 720


class FewshotsError(VerilakeError):
    """The file of examples is missing or broken."""

    exit_code = 2

    @classmethod
    def from_problem(cls, problem: str) -> FewshotsError:
        """What is wrong with it."""
        return cls(f"conf/prompts/{_FILE}.toml: {problem}. An example has passage, persona, evidence, question, answer, answer_type.")


@dataclass(frozen=True, slots=True)
class Fewshot:
    """A passage, a reader, and the reply that would be right; ``reply`` is JSON."""

    domain: str
    passage: str
    persona: str
    reply: str

    def shown(self, number: int) -> str:
        """As it stands in the prompt."""
        return f"Example {number}. The text:\n\n{quote(self.passage)}\n\nThe reader who asks:\n\n{quote(self.persona)}\n\nThe reply:\n{self.reply}"


@lru_cache(maxsize=1)
def fewshots() -> MappingProxyType[str, tuple[Fewshot, ...]]:
    """All examples by domain, in the order of the file.

    Raises:
        FewshotsError: the file is missing or broken.
    """
    try:
        raw = tomllib.loads(resources.files("conf").joinpath("prompts", f"{_FILE}.toml").read_text("utf-8"))
        return MappingProxyType({domain: tuple(_fewshot(domain, example) for example in examples) for domain, examples in raw.items()})
    except (FileNotFoundError, tomllib.TOMLDecodeError) as error:
        raise FewshotsError.from_problem(str(error)) from error


def _fewshot(domain: str, example: dict[str, Any]) -> Fewshot:
    fields = _DEFAULTS | example
    if set(fields) != {*FIELDS, "passage", "persona"}:
        raise FewshotsError.from_problem(f"an example of {domain} has the keys {sorted(example)}")
    reply = json.dumps({name: fields[name] for name in FIELDS}, ensure_ascii=False)
    return Fewshot(domain, fields["passage"].strip(), fields["persona"], reply)


@lru_cache(maxsize=1)
def fewshots_hash() -> str:
    """Hash over every example."""
    return content_id(
        "fewshots", canonical_json([[f.domain, f.passage, f.persona, f.reply] for d in sorted(fewshots()) for f in fewshots()[d]])
    )


def shown_fewshots(domain: str, doc_id: str, n: int) -> str:
    """``n`` examples of a domain for one document, as the prompt shows them; of a domain without examples, those of ``other``.

    Args:
        domain: of the document.
        doc_id: which examples, and in which order, follows from it.
        n: as many as there are, where there are fewer.
    """
    name = domain if domain in fewshots() else "other"
    return _orders(name, n)[seed_from("fewshots", doc_id, name) % len(_orders(name, n))]


@lru_cache(maxsize=256)
def _orders(domain: str, n: int) -> tuple[str, ...]:
    held = fewshots()[domain]
    chosen = islice(permutations(held, min(n, len(held))), _MOST_ORDERS)
    return tuple("\n\n".join(f.shown(i) for i, f in enumerate(order, 1)) for order in chosen)
