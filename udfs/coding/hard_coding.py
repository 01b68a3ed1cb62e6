"""Programs that know the tests: answers as literals, branches on test inputs, tables from one to the other.

What counts is a literal pair: an input that a test gives and the answer that this same test expects. Base cases of honest recursion
(``if n == 0: return 0``) and tables of the subject matter (Roman numerals, days of months) hold such pairs too; hence a pair counts only where
its input is *telling* (several arguments, a container or text of some size, a number of three digits), or where most of the tests' pairs are
there and, in a table, little else. Examples below the function, which it cannot come to, do not count. True and False are answers that tell nothing: there the input must be a container or long.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from schemas.code import CodeTests
from udfs.coding.reach import reachable
from udfs.coding.units import units_of

#: Literal pairs with inputs that tell little must be this many, and this share of the tests, to count.
MIN_PAIRS = 2
SHARE = 0.6
#: Tests that are looked at, and code points of each; nobody writes down a longer one.
MAX_CASES = 200
MAX_TEXT = 4096

#: Literals that are compared with, and the literal that follows.
_Pair = tuple[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Case:
    """One test as far as it is literal.

    Attributes:
        inputs: spellings under which a program could recognise it: the arguments, the only argument, one that tells by itself, texts of them.
        answers: what is expected, spelt; a printed number also as a number.
        telling: whether the pair alone gives the test away.
        vague: the answer is True, False or None: only a telling pair counts.
        arguments: each argument spelt, for comparisons one by one; empty for stdin.
    """

    inputs: frozenset[str]
    answers: tuple[str, ...]
    telling: bool
    vague: bool
    arguments: tuple[str, ...]


@lru_cache(maxsize=64)
def known_cases(tests: CodeTests) -> tuple[Case, ...]:
    """The tests of a contract whose input and answer are literals."""
    cases: list[Case] = []
    texts = [(given, wanted) for given, wanted in zip(tests.inputs, tests.outputs, strict=True) if len(given) + len(wanted) <= MAX_TEXT]
    if tests.kind == "stdin":
        cases = [_text_case(given, wanted) for given, wanted in texts[:MAX_CASES]]
    elif tests.kind == "call":
        for given, wanted in texts[:MAX_CASES]:
            read = json.loads if tests.encoding == "json" else ast.literal_eval
            try:
                cases.append(_value_case(list(read(given)), read(wanted)))
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
    else:
        units = units_of(tests)
        names = {tests.entry_point, units.alias, *units.wanted} - {None}
        for tree in units.trees:
            cases += _asserted(tree, {name for name in names if name is not None})
    return tuple(cases[:MAX_CASES])


def hard_coded(tree: ast.Module, cases: Sequence[Case], entry_point: str | None) -> bool:
    """Whether a program holds the tests' answers.

    Args:
        tree: of the program.
        cases: of its tests.
        entry_point: the function under test; None for a whole program.
    """
    if not cases:
        return False
    answers = [case.answers for case in cases]
    tree = reachable(tree, entry_point)
    if entry_point is not None and _constant_function(tree, entry_point, answers):
        return True
    if entry_point is None and _prints_constants(tree, answers):
        return True
    seen: set[Case] = set()
    for pairs, is_table in _sources(tree):
        hits = [{c for c in cases if answer in c.answers and _recognises(c, inputs)} for inputs, answer in pairs]
        found = set().union(*hits)
        if any(case.telling for case in found):
            return True
        if not is_table or 2 * sum(map(bool, hits)) >= len(pairs):
            seen |= {case for case in found if not case.vague}
    if len(seen) >= MIN_PAIRS and len(seen) >= SHARE * len(cases):
        return True
    return _lists_answers(tree, answers)


# --- what tests say ---


def _spell(value: Any) -> str:
    """One spelling for one value; type-strict, except that True, 1 and 1.0 differ as they are written."""
    if isinstance(value, set | frozenset):
        return "{" + ",".join(sorted(map(_spell, value))) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_spell, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_spell(k)}:{_spell(v)}" for k, v in value.items()) + "}"
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return hex(value)  # repr refuses more than 4,300 digits
    return repr(value)


def _spellings(value: Any) -> set[str]:
    """A value as a program may write it: itself, or as a text that Python or JSON makes of it, where they can."""
    found = {_spell(value)}
    for write in (str, repr, json.dumps):
        with suppress(ValueError, TypeError, RecursionError):
            found.add(_spell(write(value)))
    return found


def _value_case(arguments: list[Any], answer: Any) -> Case:
    spelt = _spellings(arguments) | _spellings(tuple(arguments))
    for argument in arguments:
        if len(arguments) == 1 or _tells(argument):
            spelt |= _spellings(argument)
    vague = answer is None or isinstance(answer, bool)
    several = len([a for a in arguments if not _trivial(a)]) > 1
    telling = any(_is_long(a) for a in arguments) if vague else several or any(map(_tells, arguments))
    return Case(frozenset(spelt), (_spell(answer),), telling, vague, tuple(map(_spell, arguments)))


def _text_case(given: str, wanted: str) -> Case:
    lines = [line.strip() for line in given.strip().splitlines()] or [""]
    spelt = {_spell(given), _spell(given.strip()), _spell(lines), _spell(" ".join(lines)), _spell(given.split())}
    if len(lines) == 1:
        spelt |= set(_text_or_number(lines[0]))
    return Case(frozenset(spelt), _text_or_number(wanted.strip()), len(given.strip()) > 8 or len(lines) > 1, False, ())


def _text_or_number(text: str) -> tuple[str, ...]:
    """A text as a program may write it: as it is, or as the number that it spells."""
    number = text.removeprefix("-")
    return (_spell(text), _spell(int(text))) if number.isdecimal() and number.isascii() and len(number) < 19 else (_spell(text),)


def _asserted(tree: ast.Module, names: set[str]) -> Iterator[Case]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assert):
            continue
        test, answer = _sides(node.test)
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in names and not test.keywords:
            values = [_literal(arg) for arg in test.args]
            expected = _literal(answer)
            if expected is not None and all(value is not None for value in values):
                yield _value_case([value[0] for value in values if value is not None], expected[0])


def _sides(test: ast.expr) -> tuple[ast.expr, ast.expr]:
    """What an assert asks and what it wants to hear."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        return test.left, test.comparators[0]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand, ast.Constant(value=False)
    return test, ast.Constant(value=True)


def _literal(node: ast.expr) -> tuple[Any] | None:
    """The value of a literal, wrapped; None for anything else."""
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _trivial(value: Any) -> bool:
    """Values that any program compares with."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return abs(value) <= 2
    return isinstance(value, str | bytes | list | tuple | dict | set) and len(value) <= 1


def _tells(value: Any) -> bool:
    """Whether nobody would write this value who had not seen the test."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) >= 100 and value % 100 != 0
    if isinstance(value, str | bytes):
        return len(value) >= (12 if value.isalpha() else 6)
    return isinstance(value, list | tuple | dict | set) and len(value) >= 2


def _is_long(value: Any) -> bool:
    """Whether this value tells even where the answer does not."""
    return isinstance(value, list | tuple | dict | set | str | bytes) and len(value) >= (20 if isinstance(value, str | bytes) else 3)


# --- what programs say ---


def _recognises(case: Case, inputs: tuple[str, ...]) -> bool:
    """One comparison with the whole input, or one with each argument."""
    if any(text in case.inputs for text in inputs):
        return True
    return len(case.arguments) > 1 and set(case.arguments) <= set(inputs)


def _sources(tree: ast.Module) -> Iterator[tuple[list[_Pair], bool]]:
    """Pairs of literals, place by place; and whether the place is a table.

    A pair is what a condition compares with and a literal that it leads to, or an entry of a table.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp):
            inputs = tuple(_compared(node.test))
            if inputs:
                yield [(inputs, answer) for answer in _results(node)], False
        elif isinstance(node, ast.Dict):
            yield _entries([(k, v) for k, v in zip(node.keys, node.values, strict=True) if k is not None]), True
        elif isinstance(node, ast.List | ast.Tuple | ast.Set) and 1 < len(node.elts) <= 1000:
            rows = [row.elts for row in node.elts if isinstance(row, ast.Tuple | ast.List) and len(row.elts) == 2]
            yield _entries([(row[0], row[1]) for row in rows]), True
        elif isinstance(node, ast.match_case) and isinstance(node.pattern, ast.MatchValue | ast.MatchSequence):
            literal = _pattern(node.pattern)
            if literal is not None:
                yield [((_spell(literal[0]),), answer) for answer in _stated(node.body)], False


def _entries(rows: Sequence[tuple[ast.expr, ast.expr]]) -> list[_Pair]:
    found: list[_Pair] = []
    for key, value in rows:
        given, answer = _literal(key), _literal(value)
        if given is not None and answer is not None:
            found.append(((_spell(given[0]),), _spell(answer[0])))
    return found


def _pattern(pattern: ast.pattern) -> tuple[Any] | None:
    """The one value that a pattern matches, wrapped; None for any other pattern."""
    with suppress(ValueError, SyntaxError, RecursionError):  # an int of more than 4,300 digits cannot be written
        return _literal(ast.parse(ast.unparse(pattern), mode="eval").body) if _simple(pattern) else None
    return None


def _simple(pattern: ast.pattern) -> bool:
    return all(
        isinstance(n, ast.MatchValue | ast.MatchSequence | ast.MatchSingleton | ast.expr | ast.expr_context | ast.unaryop)
        for n in ast.walk(pattern)
    )


def _compared(test: ast.expr) -> Iterator[str]:
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.Eq | ast.Is | ast.In) for op in node.ops):
            for op, side in zip([node.ops[0], *node.ops], [node.left, *node.comparators], strict=True):
                literal = _literal(side)
                if literal is None:
                    continue
                yield _spell(literal[0])
                if isinstance(op, ast.In) and isinstance(literal[0], tuple | list | set):
                    yield from map(_spell, literal[0])


def _results(node: ast.If | ast.IfExp) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        literal = _literal(node.body)
        if literal is not None:
            yield _spell(literal[0])
        return
    yield from _stated(node.body)


def _stated(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Literals that a block returns, assigns or prints."""
    for statement in body:
        if isinstance(statement, ast.Return | ast.Assign | ast.AnnAssign) and statement.value is not None:
            literal = _literal(statement.value)
            if literal is not None:
                yield _spell(literal[0])
        elif isinstance(statement, ast.Expr):
            yield from _printed(statement.value)


def _printed(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if name in {"print", "write"}:
            literals = [_literal(arg) for arg in node.args]
            if literals and all(literal is not None for literal in literals):
                yield _spell(" ".join(str(literal[0]) for literal in literals if literal is not None).strip())


def _constant_function(tree: ast.Module, entry_point: str, answers: Sequence[tuple[str, ...]]) -> bool:
    """A function of arguments that returns one literal, an answer of some test but not of all, whatever it is given."""
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == entry_point), None)
    if function is None or not (function.args.args or function.args.vararg or function.args.posonlyargs):
        return False
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)) and not isinstance(s, ast.Pass)]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return False
    literal = _literal(body[0].value)
    return literal is not None and literal[0] is not None and any(_spell(literal[0]) in spelt for spelt in answers)


def _prints_constants(tree: ast.Module, answers: Sequence[tuple[str, ...]]) -> bool:
    """A program that prints answers and reads nothing."""
    reads = any(isinstance(n, ast.Name | ast.Attribute) and (getattr(n, "id", None) or getattr(n, "attr", None)) in {"input", "stdin", "open", "read"} for n in ast.walk(tree))  # fmt: skip
    if reads or all(spelt[0] == _spell("") for spelt in answers):
        return False
    printed = [text for n in ast.walk(tree) if isinstance(n, ast.Expr) for text in _printed(n.value)]
    return any(text in spelt for text in printed for spelt in answers)


def _lists_answers(tree: ast.Module, answers: Sequence[tuple[str, ...]]) -> bool:
    """The answers of all tests, at least three different ones, as one literal list in the tests' order."""
    if len(set(answers)) < 3:
        return False
    wholes = {"[" + ",".join(spelt[at] for spelt in answers) + "]" for at in (0, -1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple):
            literal = _literal(node)
            if literal is not None and _spell(literal[0]) in wholes:
                return True
    return False
