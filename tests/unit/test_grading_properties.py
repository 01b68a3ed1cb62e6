"""Rewritings that keep a value keep its verdict; another value changes it."""

from __future__ import annotations

from fractions import Fraction

import hypothesis.strategies as st
from hypothesis import HealthCheck, assume, given, settings

from schemas.contract import AnswerContract
from udfs.grading import grade

QUICK = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
NUMBERS = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**6)
SMALL = st.integers(-30, 30)


def fraction(value, command="\\frac"):
    sign = "-" if value < 0 else ""
    return f"{sign}{command}{{{abs(value.numerator)}}}{{{value.denominator}}}"


def spellings(value):
    """One rational in many notations."""
    yield f"{value.numerator}/{value.denominator}"
    yield fraction(value)
    yield fraction(value, "\\dfrac")
    yield f"{3 * value.numerator}/{3 * value.denominator}"
    yield f"\\left( {fraction(value)} \\right)"
    yield f"${fraction(value)}$."
    yield f"\\boxed{{{fraction(value)}}}"
    yield f"x = {fraction(value)}"
    yield f"{fraction(value * 1000)} \\times 10^{{-3}}"
    yield f"{fraction(value * 100)}\\%"
    yield f"2 + {fraction(value - 2)}" if value > 2 else f"{fraction(value + 2)} - 2"
    yield f"−{abs(value.numerator)}/{value.denominator}" if value < 0 else f"+{value.numerator}/{value.denominator}"
    if value.denominator == 1:
        yield f"{value.numerator:,}"
        yield f"{value.numerator}.0"
        yield f"{value.numerator:,}".replace(",", "{,}")
        yield f"{value.numerator:,}".replace(",", "\\,")


def verdicts(gold, answers, kind="expression", **latitude):
    contract = AnswerContract(type=kind, gold=gold, **latitude)
    return {answer: grade(contract, answer).verdict for answer in answers}


def all_are(found, verdict):
    return {answer: got for answer, got in found.items() if got != verdict} == {}


@QUICK
@given(NUMBERS | st.integers(-(10**12), 10**12).map(Fraction), st.data())
def test_every_spelling_of_a_rational_is_the_same_number_and_of_another_is_not(value, data):
    gold = data.draw(st.sampled_from(list(spellings(value))[:8]))
    gold = gold.removeprefix("\\boxed{").removesuffix("}") if gold.startswith("\\boxed") else gold
    assert all_are(verdicts(gold, spellings(value)), "correct")
    other = value + data.draw(st.sampled_from([1, -1, Fraction(1, 7), value + 1, -2 * value]))
    assume(other not in (value, value / 100, value * 100))
    assert all_are(verdicts(gold, spellings(other)), "incorrect")


@QUICK
@given(st.integers(1, 200), st.integers(1, 20), SMALL, SMALL)
def test_roots_are_compared_after_what_can_be_taken_out(n, factor, a, b):
    gold = f"{a}+{b}\\sqrt{{{n * factor**2}}}"
    same = [
        f"{a}+{b * factor}\\sqrt{{{n}}}",
        f"{b * factor}\\sqrt{{{n}}}+{a}",
        f"{a}+\\frac{{{b * factor * n}}}{{\\sqrt{{{n}}}}}",
        f"{a}+{b}*({n}*{factor}^2)^{{1/2}}",
    ]
    assert all_are(verdicts(gold, same), "correct")
    other = [f"{a + 1}+{b * factor}\\sqrt{{{n}}}", f"{a}+{b * factor + 1}\\sqrt{{{n}}}"]
    assert all_are(verdicts(gold, other), "incorrect")


@QUICK
@given(st.lists(SMALL, min_size=2, max_size=4), st.integers(1, 9))
def test_a_product_of_factors_is_its_expansion(roots, scale):
    coefficients = [Fraction(scale)]
    for root in roots:
        shifted = [*coefficients, Fraction(0)]
        for k, c in enumerate(coefficients):
            shifted[k + 1] -= root * c
        coefficients = shifted
    degree = len(roots)
    expanded = "+".join(f"{c}x^{{{degree - k}}}" for k, c in enumerate(coefficients)).replace("+-", "-")
    factors = str(scale) + "".join(f"(x{-root:+d})" for root in roots)
    assert all_are(verdicts(factors, [expanded, f"y = {expanded}", factors[::1], f"\\frac{{({expanded})(x+1)}}{{x+1}}"]), "correct")
    assert all_are(verdicts(expanded, [factors]), "correct")
    assert all_are(verdicts(factors, [f"{expanded}+1", f"-({expanded})", expanded.replace("x", "z")]), "incorrect")


@QUICK
@given(st.lists(NUMBERS, min_size=1, max_size=6, unique=True), st.randoms(use_true_random=False))
def test_order_is_nothing_to_a_set_and_all_to_a_list(values, draw):
    mixed = list(values)
    draw.shuffle(mixed)
    gold, said = ", ".join(map(fraction, values)), ", ".join(str(v) for v in mixed)
    braces, answer = f"\\{{{gold}\\}}", f"\\boxed{{\\{{{said}\\}}}}"
    assert all_are(verdicts(braces, [answer, said, f"\\left\\{{ {said}, {said} \\right\\}}"], "set"), "correct")
    assert all_are(verdicts(braces, [f"{said}, {max(values) + 1}"], "set"), "incorrect")
    assert verdicts(gold, [f"[{said}]"], "list")[f"[{said}]"] == ("correct" if mixed == values else "incorrect")
    assert all_are(verdicts(gold, [f"[{said}]"], "list", ordered=False), "correct")
    if len(values) > 1:
        fewer = ", ".join(str(v) for v in mixed[1:])
        assert all_are(verdicts(braces, [fewer], "set") | verdicts(gold, [fewer], "list", ordered=False), "incorrect")


@QUICK
@given(NUMBERS, NUMBERS, st.booleans(), st.booleans())
def test_intervals_and_inequalities_say_the_same(a, b, left, right):
    low, high = sorted((a, b))
    assume(low != high)
    gold = f"{'[' if left else '('}{fraction(low)},{fraction(high)}{']' if right else ')'}"
    less, more = ("\\le" if left else "<"), ("\\le" if right else "<")
    same = [f"{low} {less} x {more} {high}", f"{high} {'>=' if right else '>'} t {'>=' if left else '>'} {low}", f"x \\in {gold}"]
    same.append(f"x {'>=' if left else '>'} {low} \\text{{ and }} x {'<=' if right else '<'} {high}")
    assert all_are(verdicts(gold, same, "interval"), "correct")
    flipped = f"{'(' if left else '['}{low},{high}{']' if right else ')'}"
    other = [flipped, f"{low} {less} x", f"{low} {less} x {more} {high + 1}", f"{low - 1} {less} x {more} {high}"]
    assert all_are(verdicts(gold, other, "interval"), "incorrect")


@QUICK
@given(st.sampled_from(["km", "cm", "kg", "s", "L"]), NUMBERS, st.sampled_from(["m", "g", "hours", "dollars"]))
def test_a_unit_may_be_left_out_and_never_contradicted(unit, value, other):
    gold = f"{fraction(value)}\\text{{ {unit}}}"
    assert all_are(
        verdicts(gold, [fraction(value), f"{fraction(value)} \\mathrm{{{unit}}}" if len(unit) > 1 else gold, f"{value} \\text{{{unit}}}"]),
        "correct",
    )
    assert all_are(verdicts(gold, [f"{fraction(value)}\\text{{ {other}}}", f"{fraction(value + 1)}\\text{{ {unit}}}"]), "incorrect")


@settings(QUICK, max_examples=150)
@given(
    st.text(alphabet="0123456789xyin+-*/^_=<>(){}[]|!,.;: \\$%&'\"~√π½²−°∞", max_size=60) | st.text(max_size=40),
    st.sampled_from(["expression", "set", "interval", "list"]),
)
def test_whatever_is_said_has_a_verdict_and_whatever_equals_itself_is_accepted(text, kind):
    known = {"correct", "incorrect", "unparsable_pred", "unparsable_gold", "timeout", "error"}
    got = grade(AnswerContract(type=kind, gold="\\{1, 2\\}" if kind == "set" else "[1,2)"), text)
    assert got.verdict in known
    assume(text.strip())
    mirror = grade(AnswerContract(type=kind, gold=text), f"Answer: {text}" if "\n" not in text else text)
    assert mirror.verdict in known
    if mirror.verdict not in ("unparsable_gold", "error") and mirror.extracted == text.strip():
        assert mirror.verdict == "correct"
