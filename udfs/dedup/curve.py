"""What bands and rows imply: the share of pairs that become candidates, by their similarity."""

from __future__ import annotations

from functools import lru_cache

from schemas.conf import Curate
from udfs.dedup.minhash import collision_probability

#: Similarities at which the curve is told.
POINTS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)


@lru_cache(maxsize=8)
def optimal_banding(threshold: float, permutations: int) -> tuple[int, int]:
    """Bands and rows that weigh false positives and false negatives at ``threshold`` alike, as ``datasketch.MinHashLSH`` chooses them.

    Args:
        threshold: wanted Jaccard, within (0, 1].
        permutations: at most so many, at least 2.
    """
    from datasketch import MinHashLSH

    chosen = MinHashLSH(threshold=threshold, num_perm=max(2, permutations))
    return int(chosen.b), int(chosen.r)


def resolved(curate: Curate) -> Curate:
    """The same settings with bands and rows in place of ``bands = 0``."""
    if curate.bands:
        return curate
    bands, rows = optimal_banding(curate.jaccard, curate.permutations)
    return curate.model_copy(update={"bands": bands, "rows": rows})


def describe_curve(bands: int, rows: int) -> str:
    """One line: threshold (1/b)^(1/r) and the probability that a pair shares a band at each of ``POINTS``."""
    points = ", ".join(f"P({j:g}) = {collision_probability(j, bands, rows):.4f}" for j in POINTS)
    return f"LSH: {bands} bands x {rows} rows = {bands * rows} permutations, half-way at {(1 / bands) ** (1 / rows):.3f}; {points}"
