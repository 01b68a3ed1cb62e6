"""Scripts of replies that drive conversion's chain in tests."""

from __future__ import annotations

import json
from collections.abc import Mapping

from udfs.conversion.ask import Ask, Conversion, Document, Reply
from udfs.conversion.chain import convert
from udfs.conversion.drive import drive
from udfs.conversion.recipe import Recipe

BRIDGES = (
    "The Akashi Kaikyo Bridge in Japan, opened on 5 April 1998, has a central span of 1,991 metres. The Golden Gate Bridge, finished in 1937, "
    "spans 1,280 metres. Its chief engineer was Joseph Strauss; its towers are painted in International Orange."
)


def document(text: str = BRIDGES, doc_id: str = "d1", title: str | None = "Bridges") -> Document:
    return Document(doc_id, "wiki", "file:///bridges", title, text)


def filtered(**changes: object) -> str:
    return json.dumps({"reasons": "clear", "informative": True, "self_contained": True, "extractable": True} | changes)


def identified(*personas: str, domain: str = "technology") -> str:
    return json.dumps({"domain": domain, "personas": list(personas)})


def generated(**changes: object) -> str:
    reply = {
        "evidence": ["Its chief engineer was Joseph Strauss"], "question": "Who was the chief engineer of the Golden Gate Bridge?",
        "answer": "Joseph Strauss", "answer_type": "text", "unit": None, "aliases": [], "computation": None,
    }  # fmt: skip
    return json.dumps(reply | changes)


def opened(**changes: object) -> str:
    return generated(
        **{
            "evidence": ["opened on 5 April 1998"],
            "question": "When was the Akashi Kaikyo Bridge opened?",
            "answer": "5 April 1998",
            "answer_type": "date",
        }
        | changes
    )


def longer(**changes: object) -> str:
    return generated(
        **{
            "evidence": ["has a central span of 1,991 metres", "spans 1,280 metres"], "answer": "711", "answer_type": "number", "unit": "metres",
            "question": "By how many metres is the central span of the Akashi Kaikyo Bridge longer than that of the Golden Gate Bridge?",
            "computation": "1,991 - 1,280",
        }
        | changes
    )  # fmt: skip


def checked(**changes: object) -> str:
    return json.dumps({"reasons": "sound", "grounded": True, "answer_leaks": False, "self_contained": True} | changes)


#: Key of a call: stage, ordinal, re-ask.
Script = Mapping[tuple[str, int, int], Reply]


def script(*made: Reply, checks: tuple[Reply, ...] = (), **stages: Reply) -> dict[tuple[str, int, int], Reply]:
    """Replies under which every generated candidate is checked and passes, unless said otherwise."""
    first = {("filter", 0, 0): stages.get("filter", filtered())}
    first[("identify", 0, 0)] = stages.get("identify", identified(*(f"reader {i}" for i in range(len(made)))))
    for i, reply in enumerate(made):
        first[("generate", i, 0)] = reply
        first[("check", i, 0)] = checks[i] if i < len(checks) else checked()
    return first


def run(replies: Script, doc: Document | None = None, recipe: Recipe | None = None) -> tuple[Conversion, list[Ask]]:
    """What becomes of a document, and everything that was asked; a call that the script does not know is an error."""
    asks: list[Ask] = []

    def answer(ask: Ask) -> Reply:
        asks.append(ask)
        return replies[ask.stage, ask.ordinal, ask.reask]

    return drive(convert(doc or document(), recipe or Recipe()), answer), asks


def states(conversion: Conversion) -> list[str]:
    """The states in short: ``filter 0 passed``."""
    return [f"{s.stage} {s.ordinal} {s.state if s.state == 'passed' else f'{s.state} {s.reason}'}" for s in conversion.states]
