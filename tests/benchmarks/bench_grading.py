"""Answers graded a second on one core, by type, beside math-verify's own figure in the same run.

    python tests/benchmarks/bench_grading.py [--answers 4000] [--repeat 5] [--skip-math-verify]

Seconds of CPU time of this process, the best of the repetitions: what else runs on the machine counts little. All answers of one pass are
different texts and each stands in a response with a marker or a box, so that no cache of ours answers for the grader. No assertion: a person reads the figures.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from schemas.contract import AnswerContract
from udfs.grading import grade
from udfs.grading.pool import ask

Row = tuple[AnswerContract, str]


def rows(kind: str, count: int, seed: int) -> list[Row]:
    """Golds with right and wrong answers in turn, made from a seed."""
    draw, out = random.Random(seed), []
    for k in range(count):
        a, b, c = draw.randint(10, 10**6), draw.randint(2, 10**4), draw.randint(2, 99)
        wrong = k % 2
        given: dict[str, tuple[dict[str, object], str]] = {
            "number": ({"type": "number", "gold": str(a)}, f"Answer: {a + wrong:,}"),
            "date": (
                {"type": "date", "gold": f"{1000 + a % 1000}-03-{c % 28 + 1:02d}"},
                f"Answer: {c % 28 + 1} March {1000 + a % 1000 + wrong}",
            ),
            "text": ({"type": "text", "gold": f"Fort {a}"}, f"Answer: the fort {a + wrong}"),
            "choice": ({"type": "choice", "gold": "B", "options": ("x", str(a), "y")}, f"Answer: {'(C)' if wrong else '(B)'}"),
            "expression: integers": ({"type": "expression", "gold": str(a)}, f"\\boxed{{{a + wrong}}}"),
            "expression: fractions": (
                {"type": "expression", "gold": f"\\frac{{{a}}}{{{b}}}"},
                f"\\boxed{{\\frac{{{a * c + wrong}}}{{{b * c}}}}}",
            ),
            "expression: roots": ({"type": "expression", "gold": f"{c}\\sqrt{{{b}}}"}, f"\\boxed{{\\sqrt{{{b * c * c + wrong}}}}}"),
            "expression: polynomials": ({"type": "expression", "gold": f"(x+{c})(x-{b})"}, f"\\boxed{{x^2{c - b:+d}x-{b * c + wrong}}}"),
            "set": ({"type": "set", "gold": f"\\{{{a},{b},{c}\\}}"}, f"\\boxed{{\\{{{c},{a + wrong},{b}\\}}}}"),
            "interval": ({"type": "interval", "gold": f"[{c},{a + 100})"}, f"\\boxed{{{c}\\le x<{a + 100 + wrong}}}"),
            "list": ({"type": "list", "gold": f"({a},{b},{c})"}, f"\\boxed{{({a},{b},{c + wrong})}}"),
        }
        contract, answer = given[kind]
        out.append(
            (
                AnswerContract.model_validate(contract),
                f"We compute step {k}. So {answer}" if "\\" in answer else f"We compute step {k}.\n{answer}",
            )
        )
    return out


KINDS = (
    "number", "date", "text", "choice", "expression: integers", "expression: fractions", "expression: roots", "expression: polynomials", "set", "interval", "list",
)  # fmt: skip


def rate(count: int, repeat: int, work: Callable[[int], object]) -> float:
    """Answers a CPU second, the best of the repetitions; each gets its own seed."""
    taken = []
    for seed in range(repeat):
        begun = time.process_time()
        work(seed)
        taken.append(time.process_time() - begun)
    return count / min(taken)


def ours(kind: str, count: int, repeat: int) -> float:
    """Grading alone: the answers are made before the clock starts. Each gold is graded once before, as at its load."""
    best = 0.0
    for seed in range(repeat):
        made = rows(kind, count, seed)
        for contract, _ in made:
            grade(contract, "Answer: 0")
        begun = time.process_time()
        right = sum(grade(contract, response).reward == 1.0 for contract, response in made)
        best = max(best, count / (time.process_time() - begun))
        if not 0.4 * count <= right <= 0.6 * count:
            sys.stderr.write(f"{kind}: {right} of {count} are right, about half was meant\n")
    return best


def math_verify(kind: str, count: int) -> float:
    """math-verify in this process on the same golds and boxes: parse of the answer and verify; the golds are parsed before."""
    from math_verify import parse, verify

    made = rows(kind, count, 1)
    golds = [parse(f"${contract.gold}$") for contract, _ in made]
    begun = time.process_time()
    for gold, (_, response) in zip(golds, made, strict=True):
        verify(gold, parse(response))
    return count / (time.process_time() - begun)


def main() -> None:
    """Print one line a type."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=4000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--skip-math-verify", action="store_true")
    wanted = parser.parse_args()
    print(f"answers a CPU second of one process; {wanted.answers} different answers a pass, best of {wanted.repeat}")
    for kind in KINDS:
        line = f"{kind:26s} {ours(kind, wanted.answers, wanted.repeat):12,.0f}"
        if not wanted.skip_math_verify and kind not in ("date", "text", "choice"):
            line += f"   math-verify {math_verify(kind, min(100, wanted.answers)):8,.0f}"
        print(line, flush=True)
    begun = time.perf_counter()
    ask("\\frac{1}{2}", "\\int_0^1 x dx")
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    for k in range(20):
        ask("\\frac{1}{2}", f"\\int_0^1 x dx + {k}")
    print(
        f"asked of math-verify in its process: first {first:.2f} s (starts it), then {20 / (time.perf_counter() - begun):.0f} a second, wall"
    )


if __name__ == "__main__":
    main()
