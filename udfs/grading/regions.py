"""Intervals and their unions, also written as inequalities: one list of pieces for every notation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from udfs.grading import numeric
from udfs.grading.canonical import names_of
from udfs.grading.primaries import Node
from udfs.grading.scalars import Rules, rational, same_scalar

#: Most pieces that are read.
MAX_PIECES = 16
_INFINITY: Node = ("sym", "infty")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Piece:
    """One interval; an end is None where there is none."""

    low: Node | None
    low_closed: bool
    high: Node | None
    high_closed: bool


@dataclass(frozen=True, slots=True)
class Region:
    """Pieces from left to right (where their order is known), and the variable that was named."""

    pieces: tuple[Piece, ...]
    name: str | None = None


_ALL = Piece(None, False, None, False)


def lone_name(node: Node) -> str | None:
    """The variable that a node is by itself, also ``f(x)``; None where it is none."""
    if node[0] == "sym" and names_of(node):
        return str(node[1])
    if node[0] == "fn" and len(node[1]) == 1 and all(lone_name(a) or rational(a) is not None for a in node[2:]):
        return f"{node[1]}({','.join(str(lone_name(a) or rational(a)) for a in node[2:])})"
    return None


def _end(node: Node) -> tuple[Node | None, int]:
    """An end and its sign where it is infinite."""
    if node == _INFINITY:
        return None, 1
    if node == ("neg", _INFINITY):
        return None, -1
    return node, 0


def _piece(low: Node, low_closed: bool, high: Node, high_closed: bool) -> Piece | None:
    a, below = _end(low)
    b, above = _end(high)
    if below > 0 or above < 0:
        return None
    return Piece(a, low_closed and a is not None, b, high_closed and b is not None)


def _value(node: Node | None, infinite: float) -> float | None:
    if node is None:
        return infinite
    exact = rational(node)
    try:
        if exact is not None:
            return float(exact)
        value = numeric.value_of(node)
        return None if value is None else float(value)
    except OverflowError:
        return None


def _ordered(pieces: tuple[Piece, ...]) -> tuple[Piece, ...] | None:
    """Pieces from left to right, touching ones joined; None where their ends cannot be ordered."""
    keyed = []
    for piece in pieces:
        low, high = _value(piece.low, float("-inf")), _value(piece.high, float("inf"))
        if low is None or high is None:
            return None
        if low > high or (low == high and not (piece.low_closed and piece.high_closed)):
            continue  # empty
        keyed.append((low, not piece.low_closed, high, piece))
    keyed.sort(key=lambda item: item[:3])
    out: list[Piece] = []
    for low, is_open, high, piece in keyed:
        if out:
            last = out[-1]
            end = _value(last.high, float("inf"))
            if end is not None and (end > low or (end == low and (last.high_closed or not is_open))):
                grown = high > end or (high == end and piece.high_closed)
                out[-1] = Piece(
                    last.low, last.low_closed, piece.high if grown else last.high, piece.high_closed if grown else last.high_closed
                )
                continue
        out.append(piece)
    return tuple(out)


def _made(pieces: tuple[Piece, ...], name: str | None = None) -> Region | None:
    if len(pieces) > MAX_PIECES:
        return None
    ordered = _ordered(pieces)
    return Region(pieces if ordered is None else ordered, name)


def _sequence(node: Node, *, pairs: bool) -> Region | None:
    opening, closing, items = node[1:]
    if opening == "\\{":
        if len(items) == 1 and items[0][0] == "such":
            return _such(items[0])
        return _made(tuple(Piece(item, True, item, True) for item in items)) if pairs else None
    mixed = (opening, closing) in (("(", "]"), ("[", ")"))
    if len(items) != 2 or not (pairs or mixed) or opening not in ("(", "["):
        return None
    piece = _piece(items[0], opening == "[", items[1], closing == "]")
    return _made((piece,)) if piece else None


def _such(node: Node) -> Region | None:
    r"""``\{x : 0 < x < 1\}``, ``\{x \in R | x > 1\}``."""
    head, condition = node[1:]
    if head[0] == "rel" and head[2] == "\\in" and head[3] == ("sym", "R"):
        head = head[1]
    name = lone_name(head)
    found = region(condition, pairs=False)
    return found if found is not None and name is not None and found.name == name else None


def _chain(node: Node) -> Region | None:
    """An inequality with its variable on one side, or between two bounds; a membership."""
    parts = node[1:]
    if len(parts) == 3:
        left, sign, right = parts
        if sign == "\\in":
            inner = region(right, pairs=True)
            name = lone_name(left)
            return None if inner is None or name is None else Region(inner.pieces, name)
        if lone_name(left) is None and lone_name(right) is not None:
            left, sign, right = right, _FLIPPED.get(sign, sign), left
        name = lone_name(left)
        if name is None or names_of(left) & names_of(right):
            return None
        if sign == "!=":
            return _made((Piece(None, False, right, False), Piece(right, False, None, False)), name)
        if sign in ("<", "<="):
            piece = _piece(("neg", _INFINITY), False, right, sign == "<=")
        elif sign in (">", ">="):
            piece = _piece(right, sign == ">=", _INFINITY, False)
        else:
            return None
        return _made((piece,), name) if piece else None
    if len(parts) == 5:
        low, first, middle, second, high = parts
        if first in (">", ">=") and second in (">", ">="):
            low, first, second, high = high, _FLIPPED[second], _FLIPPED[first], low
        name = lone_name(middle)
        if name is None or first not in ("<", "<=") or second not in ("<", "<="):
            return None
        piece = _piece(low, first == "<=", high, second == "<=")
        return _made((piece,), name) if piece else None
    return None


def _several(node: Node) -> Region | None:
    """Inequalities joined by ``or``, by ``and``, or by a comma: then the union, unless that would be everything."""
    found = [region(item, pairs=False) for item in node[1]]
    regions = [r for r in found if r is not None and r.name is not None]
    names = {r.name for r in regions}
    if len(regions) != len(found) or len(names) != 1:
        return None
    name = names.pop()
    pieces = tuple(piece for r in regions for piece in r.pieces)
    union = _made(pieces, name)
    if node[2] == "or" or (node[2] == "," and union is not None and union.pieces != (_ALL,)):
        return union
    lower = [p for p in pieces if p.high is None and p.low is not None]
    upper = [p for p in pieces if p.low is None and p.high is not None]
    if len(pieces) != 2 or len(lower) != 1 or len(upper) != 1:
        return None
    return _made((Piece(lower[0].low, lower[0].low_closed, upper[0].high, upper[0].high_closed),), name)


def region(node: Node, *, pairs: bool) -> Region | None:
    r"""The region that a node describes; None where it is none.

    Args:
        node: the formula.
        pairs: whether ``(a,b)`` and ``[a,b]`` are intervals here, and ``\{a,b\}`` points.
    """
    tag = node[0]
    if tag == "seq":
        return _sequence(node, pairs=pairs)
    if tag == "rel":
        return _chain(node)
    if tag == "list":
        return _several(node)
    if node == ("sym", "R"):
        return Region((_ALL,))
    if node == ("sym", "emptyset"):
        return Region(())
    if tag == "cup":
        left, right = region(node[1], pairs=True), region(node[2], pairs=True)
        return None if left is None or right is None else _made(left.pieces + right.pieces)
    if tag == "minus":
        whole, without = region(node[1], pairs=True), region(node[2], pairs=True)
        if whole is None or without is None or whole.pieces != (_ALL,) or any(p.low is None or p.low != p.high for p in without.pieces):
            return None
        ends = [None, *(p.low for p in without.pieces), None]
        return _made(tuple(Piece(a, False, b, False) for a, b in pairwise(ends)))
    return None


def same_region(gold: Region, answer: Region, rules: Rules) -> bool | None:
    """Whether two regions are the same: same pieces, same ends, open and closed alike; names of variables must not differ."""
    if (gold.name and answer.name and gold.name != answer.name) or len(gold.pieces) != len(answer.pieces):
        return False
    decided: bool | None = True
    for a, b in zip(gold.pieces, answer.pieces, strict=True):
        if (a.low_closed, a.high_closed, a.low is None, a.high is None) != (b.low_closed, b.high_closed, b.low is None, b.high is None):
            return False
        for left, right in ((a.low, b.low), (a.high, b.high)):
            if left is not None and right is not None:
                same = same_scalar(left, right, rules)
                if same is False:
                    return False
                decided = decided and same
    return decided
