"""What replaying a conversion costs: ``python -m tests.benchmarks.bench_conversion``.

Microseconds of processor time a document of 1 kB, the best of several rounds, with recorded replies and nothing rendered. Beside it the floor:
parsing the same replies as JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from tests.conversions import BRIDGES, Script, document, filtered, generated, longer, opened, run, script
from udfs.conversion.recipe import Recipe

ROUNDS, REPEATS = 15, 200
RECIPE = Recipe()
TEXT = BRIDGES + " Suspension bridges hang their decks from cables that run over towers." * 11


def microseconds(work: Callable[[], object]) -> float:
    """Processor time of one call, in the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = time.process_time()
        for _ in range(REPEATS):
            work()
        best = min(best, time.process_time() - before)
    return best / REPEATS * 1e6


def three_names() -> Script:
    """Three questions whose answers are names."""
    paint = generated(
        evidence=["painted in International Orange"],
        question="In which colour is the Golden Gate Bridge painted?",
        answer="International Orange",
    )
    place = generated(
        evidence=["The Akashi Kaikyo Bridge in Japan"], question="In which country is the Akashi Kaikyo Bridge?", answer="Japan"
    )
    return script(generated(), paint, place)


def main() -> None:
    """Print a line a kind of document."""
    declined = generated(question="", answer="", evidence=[])
    kinds: dict[str, Script] = {
        "rejected by the filter": script(filter=filtered(informative=False)),
        "three readers, all decline": script(declined, declined, declined),
        "three names": three_names(),
        "a name, a date, a computed number": script(generated(), opened(), longer()),
    }
    doc = document(TEXT)
    print(f"a document of {len(TEXT)} code points; microseconds of processor time")
    for kind, replies in kinds.items():
        asks = run(replies, doc)[1]
        texts = [str(replies[ask.stage, ask.ordinal, ask.reask]) for ask in asks]
        floor = microseconds(lambda texts=texts: [json.loads(text) for text in texts])
        print(
            f"  {kind:36} {microseconds(lambda replies=replies: run(replies, doc, RECIPE)):7.0f}   (JSON alone {floor:.0f}, {len(asks)} replies)"
        )


if __name__ == "__main__":
    main()
