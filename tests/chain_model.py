"""A model for the chain of conversion that needs no weights: it reads the documents made here and answers each stage as its schema wants.

Behind ``tests.openai_server.StubServer`` it is a server that a worker cannot tell from others.
"""

from __future__ import annotations

import json
import re

READERS = ("an engineer who plans bridges", "a historian of trade")
#: Documents with this word are not worth asking about; with the next one the checker finds the question lacking.
JUNK, DOUBTFUL = "subscribe", "reportedly"


#: The sentence that each reader is asked about.
FACTS = (r"Its main span is \d+ metres long\.", r"The bridge was opened to traffic in \d+ after four years of work\.")


def bridge(k: int, word: str = "", facts: slice = slice(0, 2)) -> str:
    """A document of two facts, of which each reader is asked one; or of one of them."""
    told = (f"Its main span is {200 + k} metres long.", f"The bridge was opened to traffic in {1800 + k} after four years of work.")
    return f"The Arden{k} Bridge crosses the river Sel{k} near the town of Quay{k}. {word}\n\n{' '.join(told[facts])}\n"


def answer(body: dict) -> str:
    """The reply to one call of the chain."""
    shown = body["messages"][-1]["content"]
    wanted = set(body["response_format"]["json_schema"]["schema"]["properties"])
    if "extractable" in wanted:
        good = JUNK not in shown and " Bridge crosses " in shown
        return json.dumps({"reasons": "as it reads", "informative": good, "self_contained": True, "extractable": good})
    if "personas" in wanted:
        readers = [reader for reader, fact in zip(READERS, FACTS, strict=True) if re.search(fact, shown)]
        return json.dumps({"domain": "technology", "personas": readers})
    if "grounded" in wanted:
        return json.dumps({"reasons": "as it reads", "grounded": DOUBTFUL not in shown, "answer_leaks": False, "self_contained": True})
    return json.dumps(_generated(shown))


def _generated(shown: str) -> dict:
    name = re.findall(r"The (Arden\d+ Bridge) crosses", shown)[-1]
    engineer = READERS[0] in shown
    sentence = re.findall(FACTS[0] if engineer else FACTS[1], shown)[-1]
    number = re.search(r"\d+", sentence)[0]
    question = f"How many metres long is the main span of the {name}?" if engineer else f"In which year was the {name} opened to traffic?"
    return {
        "evidence": [sentence],
        "question": question,
        "answer": number,
        "answer_type": "number" if engineer else "date",
        "unit": "metres" if engineer else None,
        "aliases": [],
        "computation": None,
    }
