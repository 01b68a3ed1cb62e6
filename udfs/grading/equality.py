r"""Whether two formulas are the same answer: values, lists, sets, tuples, intervals, equations, each in its own way.

Every comparison is three-valued: True and False are decided, None is not. The notation says what a formula is: ``(1,2)`` is a pair (and an
open interval beside an interval), ``\{1,2\}`` a set, ``1,2`` the values in any order, ``x=5`` a value with its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from udfs.grading import polynomials as poly
from udfs.grading.canonical import UndefinedError, difference, names_of, proportional, ratio
from udfs.grading.magnitudes import differ
from udfs.grading.polynomials import ONE, OPAQUE, PRIME, VARIABLE, Exponent, OutOfBoundsError, Polynomial
from udfs.grading.primaries import Node
from udfs.grading.regions import lone_name, region, same_region
from udfs.grading.scalars import Rules, rational, same_scalar

#: Most items of a collection that are compared each with each.
MAX_ITEMS = 64
_INFINITE: tuple[Node, ...] = (("sym", "infty"), ("neg", ("sym", "infty")))
_TUPLES = frozenset({"tuple", "angle", "column"})


def _signed(node: Node, *, plus: bool) -> Node:
    if node[0] == "pm":
        left, right = _signed(node[1], plus=plus), _signed(node[2], plus=plus)
        return ("add", left, right if plus else ("neg", right))
    return tuple(_signed(part, plus=plus) if isinstance(part, tuple) and part and isinstance(part[0], str) else part for part in node)


def _holds_sign(node: Node) -> bool:
    return node[0] == "pm" or any(_holds_sign(part) for part in node[1:] if isinstance(part, tuple) and part and isinstance(part[0], str))


def spread(node: Node) -> Node:
    r"""``a \pm b`` as the list of both; lists and sets with such items become longer."""
    if node[0] in ("num", "sym"):
        return node
    if node[0] == "list" or (node[0] == "seq" and node[1] == "\\{"):
        at = 1 if node[0] == "list" else 3
        items: list[Node] = []
        for item in node[at]:
            wide = spread(item)
            items.extend(wide[1] if wide[0] == "list" and item[0] != "list" else (item,))
        return (*node[:at], tuple(items), *node[at + 1 :])
    if node[0] == "rel" and node[2] == "=" and len(node) == 4 and _holds_sign(node[3]):
        return ("list", tuple(("rel", node[1], "=", _signed(node[3], plus=plus)) for plus in (True, False)), "or")
    if node[0] in ("seq", "rel", "matrix") or not _holds_sign(node):
        return node
    return ("list", (_signed(node, plus=True), _signed(node, plus=False)), "or")


def assigned(node: Node) -> tuple[str, tuple[Node, ...]] | None:
    """Name and values of ``x = 5``, ``5 = x``, ``x = 2+3 = 5``, ``(x,y) = (1,2)``; None where it is no such equation."""
    if node[0] != "rel" or any(sign != "=" for sign in node[2::2]):
        return None
    first, last = node[1], node[-1]
    name = lone_name(first)
    if name is None and first[0] == "seq" and all(lone_name(item) for item in first[3]):
        name = ",".join(str(lone_name(item)) for item in first[3])
    values = node[3::2]
    if name is None:
        name, values = lone_name(last), node[1:-1:2]
    return None if name is None else (name, values)


def _chain_value(values: Sequence[Node], rules: Rules) -> Node | None:
    """The last of values that are said to be equal; None where one provably is not."""
    quiet = Rules("expression")
    wrong = any(same(a, values[-1], quiet) is False for a in values[:-1])
    return None if wrong and not rules.tolerance else values[-1]


def collection(node: Node) -> tuple[str, tuple[Node, ...]] | None:
    """Kind (set, tuple, bracket, bare, angle, column) and items; None where a node is no collection."""
    if node == ("sym", "emptyset"):
        return "set", ()
    if node[0] == "list":
        return "bare", node[1]
    if node[0] == "matrix" and len(node[1][0]) == 1:
        return "column", tuple(row[0] for row in node[1])
    if node[0] != "seq" or (node[1] == "\\{" and node[3] and node[3][0][0] == "such"):
        return None
    kinds = {("(", ")"): "tuple", ("[", "]"): "bracket", ("\\{", "\\}"): "set", ("{", "}"): "bare", ("\\langle", "\\rangle"): "angle"}
    kind = kinds.get((node[1], node[2]))
    return None if kind is None else (kind, node[3])


def _unnamed(items: tuple[Node, ...]) -> tuple[str | None, tuple[Node, ...]]:
    """``x=1, x=2`` and ``x=1,2`` as values of x; items with several names stay as they are."""
    named = [assigned(item) for item in items]
    names = {pair[0] for pair in named if pair is not None}
    if len(names) != 1 or named[0] is None:
        return None, items
    return names.pop(), tuple(item if pair is None else pair[1][-1] for item, pair in zip(items, named, strict=True))


def _in_order(gold: tuple[Node, ...], answer: tuple[Node, ...], rules: Rules) -> bool | None:
    if len(gold) != len(answer):
        return False
    decided: bool | None = True
    for a, b in zip(gold, answer, strict=True):
        found = same(a, b, rules)
        if found is False:
            return False
        decided = decided and found
    return decided


def _any_order(gold: tuple[Node, ...], answer: tuple[Node, ...], rules: Rules, *, multiple: bool) -> bool | None:
    """As multisets, or as sets where multiplicity does not count."""
    if multiple and len(gold) != len(answer):
        return False
    left, right = [rational(a) for a in gold], [rational(b) for b in answer]
    if None not in left and None not in right and not rules.tolerance:
        return Counter(left) == Counter(right) if multiple else set(left) == set(right)
    if max(len(gold), len(answer)) > MAX_ITEMS:
        return None
    free, decided = list(answer), True
    for item in gold:
        verdicts = [same(item, other, rules) for other in free]
        if True in verdicts:
            if multiple:
                free.pop(verdicts.index(True))
        elif None in verdicts:
            decided = False
        else:
            return False
    if not multiple:
        for other in answer:
            verdicts = [same(item, other, rules) for item in gold]
            if True not in verdicts:
                if None not in verdicts:
                    return False
                decided = False
    return True if decided else None


def _normal(p: Polynomial) -> Polynomial:
    """Without negative powers of variables: y - 1/x and xy - 1 are one equation."""
    least: dict[poly.Atom, Exponent] = {}
    for monomial in p:
        for key, exponent in monomial:
            if key[0] == VARIABLE and exponent < 0:
                least[key] = min(least.get(key, 0), exponent)
    return poly.times(p, {tuple(sorted((key, -e) for key, e in least.items())): Fraction(1)}) if least else p


def _sides(node: Node) -> tuple[Polynomial, str] | None:
    """``left - right`` without denominators, and the sign between, turned to ``=``, ``<``, ``<=`` or ``!=``."""
    if len(node) != 4 or node[2] not in ("=", "<", "<=", ">", ">=", "!="):
        return None
    left, sign, right = node[1:]
    if sign in (">", ">="):
        left, right, sign = right, left, sign.replace(">", "<")
    a, b = ratio(left), ratio(right)
    if sign in ("<", "<=") and (a[1] != ONE or b[1] != ONE):
        return None
    p = difference(a, b)
    return (_normal(p) if sign in ("=", "!=") else p), sign


def _same_relation(gold: Node, answer: Node, rules: Rules) -> bool | None:
    """Equations and inequalities between formulas: the same up to a factor (a positive one under ``<``)."""
    if gold[2::2] == answer[2::2] and (":" in gold[2::2] or len(gold) > 4):
        return _in_order(gold[1::2], answer[1::2], rules)
    left, right = assigned(gold), assigned(answer)
    if left is not None and right is not None and left[0] == right[0]:
        value = _chain_value(right[1], rules)
        found = same(left[1][-1], value, rules) if value is not None else False
        if found is not False:
            return found
    try:
        a, b = _sides(gold), _sides(answer)
    except (OutOfBoundsError, UndefinedError):
        return None
    if a is None or b is None or a[1] != b[1]:
        return False
    factor = proportional(a[0], b[0])
    if factor is not None:
        return factor > 0 or a[1] in ("=", "!=")
    if names_of(gold) != names_of(answer):
        return False
    return None if any(key[0] in (OPAQUE, PRIME) for m in (*a[0], *b[0]) for key, _ in m) else False


def _relation_and_value(equation: Node, value: Node, rules: Rules, *, gold_is_value: bool) -> bool | None:
    """``x=5`` beside ``5``, ``2+3=5`` beside ``5``; ``3=4`` is no 4."""
    if any(sign != "=" for sign in equation[2::2]):
        return False
    named = assigned(equation)
    if named is not None:
        said = _chain_value(named[1], rules)
    elif names_of(equation):
        return False
    else:
        said = equation[-1] if all(same(part, equation[-1], Rules("expression")) for part in equation[1:-1:2]) else None
    if said is None:
        return False
    return same(value, said, rules) if gold_is_value else same(said, value, rules)


def _same_pairs(gold: tuple[str, tuple[Node, ...]], answer: tuple[str, tuple[Node, ...]], rules: Rules) -> bool | None:
    """Two collections as their notation reads."""
    (kind, items), (said, others) = gold, answer
    if kind == "bare" and said == "tuple" and _all_assigned(items):
        return _in_order(items, others, rules)
    if kind in _TUPLES and said == "bare" and _all_assigned(others):  # (3,4) said as x=3, y=4
        named = [pair for pair in (assigned(item) for item in others) if pair is not None]
        names = [pair[0] for pair in named]
        if len(set(names)) == len(names) and sorted(names) == names:
            return _in_order(items, tuple(pair[1][-1] for pair in named), rules)
    if "dots" in {item[0] for item in (*items, *others)}:
        return _in_order(items, others, rules) if kind == said else False
    if kind == "set" or said == "set":
        if {kind, said} <= {"set", "bare"}:
            left, right = _unnamed(items), _unnamed(others)
            return False if left[0] and right[0] and left[0] != right[0] else _any_order(left[1], right[1], rules, multiple=False)
        return False
    if kind == said == "bare":
        left, right = _unnamed(items), _unnamed(others)
        return False if left[0] and right[0] and left[0] != right[0] else _any_order(left[1], right[1], rules, multiple=True)
    if "bracket" in (kind, said) and kind != said and len(items) == 2:
        return False  # [1,2] is a closed interval
    return _in_order(items, others, rules)


def _all_assigned(items: tuple[Node, ...]) -> bool:
    return bool(items) and all(assigned(item) is not None for item in items)


def same(gold: Node, answer: Node, rules: Rules) -> bool | None:
    """Whether an answer is the gold, as their notations read.

    Args:
        gold: what is right.
        answer: what was said.
        rules: tolerance and unit; flags are added to it.
    """
    if gold[0] == answer[0] == "num" and not (rules.tolerance or rules.unit):
        return bool(gold[1] == answer[1])
    gold, answer = spread(gold), spread(answer)
    if gold in _INFINITE or answer in _INFINITE or "dots" in (gold[0], answer[0]):
        return gold == answer
    # A pair is an interval only beside a region that is one for certain.
    a, b = region(gold, pairs=False), region(answer, pairs=False)
    if a is not None or b is not None:
        a, b = a or region(gold, pairs=True), b or region(answer, pairs=True)
        if a is not None and b is not None:
            return same_region(a, b, rules)
    left, right = collection(gold), collection(answer)
    if left is not None and right is not None:
        return _same_pairs(left, right, rules)
    if gold[0] == "rel" and answer[0] == "rel":
        return _same_relation(gold, answer, rules)
    if answer[0] == "rel":
        return _relation_and_value(answer, gold, rules, gold_is_value=True)
    if gold[0] == "rel":
        return _relation_and_value(gold, answer, rules, gold_is_value=False)
    if gold[0] == answer[0] == "matrix":
        if [len(row) for row in gold[1]] != [len(row) for row in answer[1]]:
            return False
        return _in_order(tuple(x for row in gold[1] for x in row), tuple(x for row in answer[1] for x in row), rules)
    if gold == answer and gold[0] in ("text", "such"):
        return True
    if "text" in (gold[0], answer[0]) or (left is None) != (right is None) or a is not None or b is not None:
        return False
    if "matrix" in (gold[0], answer[0]):
        return False
    decided = same_scalar(gold, answer, rules)
    return False if decided is None and not rules.tolerance and differ(gold, answer) else decided


def as_set(node: Node) -> tuple[Node, ...] | None:
    """Items of a finite set, also written as a bare list, a bracketed list of other than two items, or a single value."""
    if node[0] == "rel" and len(node) == 4 and node[2] == "\\in" and lone_name(node[1]):  # x is one of
        node = node[3]
    found = collection(spread(node))
    if found is None:
        return None if node[0] in ("seq", "cup", "minus", "text") or region(node, pairs=False) is not None else _unnamed((node,))[1]
    kind, items = found
    if kind not in ("set", "bare") and not (kind == "bracket" and len(items) != 2):
        return None
    return _unnamed(items)[1]


def as_list(node: Node, *, ordered: bool) -> tuple[Node, ...] | None:
    """Items of a list in whatever brackets (braces only where order does not count), or a single value."""
    found = collection(spread(node))
    if found is None:
        return None if node[0] in ("seq", "cup", "minus", "text") else (node,)
    return None if found[0] == "set" and ordered else _unnamed(found[1])[1]


def same_by_type(gold: Node, answer: Node, rules: Rules) -> bool | None:
    """Whether an answer is the gold under the type of its contract."""
    if rules.kind == "set":
        items, others = as_set(gold), as_set(answer)
        if items is not None:
            return False if others is None else _any_order(items, others, rules, multiple=False)
        if region(gold, pairs=False) is None and gold[:2] != ("seq", "\\{"):
            return False
    elif rules.kind == "list":
        items, others = as_list(gold, ordered=rules.ordered), as_list(answer, ordered=rules.ordered)
        if items is None or others is None:
            return False
        return _in_order(items, others, rules) if rules.ordered else _any_order(items, others, rules, multiple=True)
    elif rules.kind == "interval":
        left, right = region(gold, pairs=True), region(answer, pairs=True)
        if left is not None:
            return False if right is None else same_region(left, right, rules)
        return same(gold, answer, rules) if gold[0] == answer[0] == "rel" else False
    return same(gold, answer, rules)
