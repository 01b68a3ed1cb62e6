"""Which findings of admission reject a candidate, by the engine that proposed it; what does not reject is a figure in its probes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """Whether a finding rejects.

    What makes an item unusable by itself (evidence that is not there, a contract that errs, a question asked before) always does.

    Attributes:
        leak: the question or its prompt gives the answer away.
        collision: the corpus fills the question's pattern with another answer.
        base_rate: too many items of its kind share its answer.
        siblings: a question of the same cluster states its answer; ``[admit] sibling_leak`` has its say too.
        weak_tests: a program that knows nothing passes the tests.
    """

    leak: bool = True
    collision: bool = True
    base_rate: bool = True
    siblings: bool = True
    weak_tests: bool = True


#: Candidates that a conversion proposed.
CONVERTED = Rules()
#: What people (or a template) wrote as a task: a word problem states its numbers, a quarter of all choices are B, and a problem has no
#: document whose other sentences could answer it. These checks measure there, and reject nothing. Nor do tests that a program passes by
#: luck: a published set stays whole but for what cannot be graded at all.
WRITTEN = Rules(leak=False, collision=False, base_rate=False, siblings=False, weak_tests=False)

#: Rules of engines that are no conversion.
RULES: dict[str, Rules] = {"adapter": WRITTEN, "generator": WRITTEN}


def rules_of(engine: str) -> Rules:
    """Rules for the candidates of an engine.

    Args:
        engine: silver.qa's engine.
    """
    return RULES.get(engine, CONVERTED)
