"""Drives a chain to its end with whatever answers at once: recorded replies, a script, a blocking client."""

from __future__ import annotations

from collections.abc import Callable

from udfs.conversion.ask import Ask, Chain, Conversion, Reply


def drive(chain: Chain, answer: Callable[[Ask], Reply]) -> Conversion:
    """What becomes of a document when every call is answered at once.

    Args:
        chain: from ``udfs.conversion.chain.convert``, not yet started.
        answer: the reply to a call.
    """
    try:
        asks = next(chain)
        while True:
            asks = chain.send([answer(ask) for ask in asks])
    except StopIteration as end:
        result: Conversion = end.value
        return result
