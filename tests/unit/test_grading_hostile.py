from __future__ import annotations

import time

import pytest

from schemas.contract import AnswerContract
from udfs.grading import grade

M = 500_000
HOSTILE = {
    # what evaluates to more than the universe holds
    "power tower": r"\boxed{9^{9^9}}", "tower of five": r"\boxed{\dfrac{5^{(5^{(5^{(5^5)})}-4)}-5}{16}}", "factorial": r"\boxed{(10^7)!}", "factorials": r"\boxed{((9!)!)!}",
    "binomial": r"\boxed{\binom{10^9}{10^8}}", "power of a sum": r"\boxed{(x+1)^{3000}}", "powers of sums": r"\boxed{(a+b+c+d+e+f+g+h)^{40}}", "e tower": r"\boxed{e^{e^{e^{e^{e^e}}}}}",
    "exponent": "\\boxed{1e999999999}", "fractional exponent": r"\boxed{2^{123456789/1000003}}", "root": r"\boxed{\sqrt{" + "9" * 100 + "}}", "digits": "\\boxed{" + "9" * 500 + "}",
    # what never ends to read
    "braces": "{" * M, "open boxes": "\\boxed{" * (M // 7), "closed boxes": "\\boxed{1}" * (M // 9), "box of braces": "\\boxed{" + "{" * M + "}" * M + "}", "dollars": "$" * M,
    "deep": "\\boxed{" + "(" * 230 + "1" + ")" * 230 + "}", "fractions": "\\boxed{" + "\\frac{" * 60 + "}", "signs": "\\boxed{" + "-" * 500 + "1}", "sets": "\\boxed{" + "\\{" * 100 + "\\}" * 100 + "}",
    "texts": "\\boxed{" + "\\text{a" * 70 + "}", "spaces": "\\boxed{7" + " " * 480 + "/2}", "bars": "\\boxed{" + "|" * 300 + "}", "backslashes": "\\" * M, "ands": "Answer: " + "and " * 120,
    # what grows while it is worked out
    "sum": "\\boxed{" + "1+" * 250 + "3}", "product": "\\boxed{" + "(x+1)" * 100 + "}", "quotients": "\\boxed{" + "+".join(f"\\frac{{1}}{{x+{k}}}" for k in range(30)) + "}",
    "roots": "\\boxed{" + "\\sqrt{" * 20 + "2" + "}" * 20 + "}", "many roots": "\\boxed{" + "+".join(f"\\sqrt{{{k}}}" for k in range(2, 60)) + "}",
    "items": "\\boxed{\\{" + ",".join(f"\\sqrt{{{k}+x}}" for k in range(48)) + "\\}}", "primes": "\\boxed{" + "*".join(f"{k}^{{1/{k + 1}}}" for k in range(2, 40)) + "}",
    "unions": "\\boxed{" + "\\cup".join(f"({k},{k + 1})" for k in range(60)) + "}", "binomials": r"\boxed{" + r"\binom{300}{150}" * 20 + "}", "both signs": "\\boxed{" + "1\\pm " * 60 + "1}",
    "matrix": "\\boxed{\\begin{pmatrix}" + "1&" * 100 + "1\\end{pmatrix}}",
}  # fmt: skip
ROOTS = r"\{" + ",".join(f"\\sqrt{{{k}+y}}" for k in range(48)) + r"\}"
CONTRACTS = [
    AnswerContract(type="expression", gold="5"), AnswerContract(type="expression", gold=r"\sqrt{2}"), AnswerContract(type="expression", gold=ROOTS), AnswerContract(type="set", gold=r"\{1,2\}"),
    AnswerContract(type="interval", gold="[0,1)"), AnswerContract(type="list", gold="1,2", ordered=False), AnswerContract(type="expression", gold="7", unit="km", tolerance=0.1),
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_mathematics_costs_little_and_nothing_is_earned(name):
    for contract in CONTRACTS:
        assert grade(contract, contract.gold).verdict == "correct"
        before = time.process_time()
        got = grade(contract, HOSTILE[name])
        # Evaluated, most of these take longer than anyone lives; read by a quadratic scan, minutes. Measured: below 0.1 s each.
        assert time.process_time() - before < 3.0
        assert got.reward == 0.0
        assert got.verdict in ("incorrect", "unparsable_pred")  # decided here: no process was asked
        assert "math_verify" not in got.flags


def test_a_gold_of_any_size_is_told_from_a_number():
    for gold in ("9^{9^9}", r"\frac{1}{2004!}", "(10^7)!", r"\binom{10^9}{10^8}"):
        contract = AnswerContract(type="expression", gold=gold)
        assert grade(contract, gold).verdict == "correct"
        assert grade(contract, "5").verdict == "incorrect"
    assert grade(AnswerContract(type="expression", gold="9^{9^9}"), "9^{9^9+1}").verdict == "incorrect"
    # 9^(9^9) = 3^(2 * 9^9): the same number, which nobody works out; unknown is null and no 0
    got = grade(AnswerContract(type="expression", gold="9^{9^9}"), r"3^{2\cdot 9^9}")
    assert (got.verdict, got.reward, got.flags) == ("error", None, ("undecided",))
