"""How often contracts err: right answers refused and near misses accepted, by answer type, with 95 % Wilson intervals.

    python tests/benchmarks/contract_errors.py [--contracts 300] [--seed 1] [--shared DIR]

Three tables: contracts made here from a seed (each with its rewritings, paraphrases and near misses); with ``--shared`` the golds of
``math500/problems.jsonl`` likewise; and four models' whole answers to ``gsm8k`` problems, whose published labels say which are right. No
assertion: a person reads the figures, and every error is printed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from schemas.contract import AnswerContract
from udfs.admission.errors_report import Errors, lines
from udfs.admission.near_misses import near_misses
from udfs.admission.rewritings import paraphrases, rewritings
from udfs.grading import grade
from udfs.sources.contracts import number_contract

_NAMES = (
    "Ada Lovelace",
    "Treaty of Tordesillas",
    "Lake Titicaca",
    "OrderedDict",
    "--verbose",
    "utf-8",
    "Søren Kierkegaard",
    "collections.abc",
    "St. John's",
    "O'Neill",
)
_UNITS = (None, "km", "kg", "%", "m/s", "°C", "MB", "$")
_MONTHS = ("January", "March", "May", "July", "August", "October", "December")
#: Errors printed of each table.
_SHOWN = 12


def made(count: int, seed: int) -> Iterable[AnswerContract]:
    """So many contracts of every type."""
    draw = random.Random(seed)
    for _ in range(count):
        a, b, c = draw.randint(-500, 99_999), draw.randint(2, 97), draw.randint(2, 12)
        name, other = draw.sample(_NAMES, 2)
        year, month, day = draw.randint(1000, 2100), draw.choice(_MONTHS), draw.randint(1, 28)
        brackets = draw.choice("(["), draw.choice(")]")
        fields: list[dict[str, object]] = [
            {"type": "number", "gold": draw.choice((f"{a}", f"{a:,}", f"{a / 100:.2f}", f"{b}/{c}")), "unit": draw.choice(_UNITS), "tolerance": draw.choice((0, 0, 0.005))},
            {"type": "date", "gold": draw.choice((f"{day} {month} {year}", f"{month} {year}", f"{year}", f"{b} BC"))},
            {"type": "text", "gold": name, "aliases": draw.choice(((), (other,)))},
            {"type": "choice", "gold": draw.choice("ABCD"), "options": draw.choice((("12", "123", "a dog", "1.5"), ("Vitamin A", "Vitamin C", "None of these", "I and II")))},
            {"type": "expression", "gold": draw.choice((f"{a}", f"\\frac{{{b}}}{{{c}}}", f"{c}\\sqrt{{{b}}}", f"x^{c}-{b}x+{a % 90 + 1}", f"({b},{c})", f"{b}-{c}i", f"\\frac{{{c}\\pi}}{{{b}}}"))},
            {"type": "set", "gold": draw.choice((f"\\{{{a},{b},{-c}\\}}", f"\\{{{b},\\sqrt{{{c}}}\\}}", "copper, tin and zinc"))},
            {"type": "interval", "gold": draw.choice((f"{brackets[0]}{-b},{c}{brackets[1]}", f"(-\\infty,{c}{brackets[1]}", f"x>{c}", f"(-\\infty,{-b})\\cup{brackets[0]}{c},\\infty)"))},
            {"type": "list", "gold": draw.choice((f"{a}, {b}, {c}", "red, green and blue", f"({b},{c},{b})")), "ordered": draw.choice((True, False))},
        ]  # fmt: skip
        yield from map(AnswerContract.model_validate, fields)


def tried(contracts: Iterable[AnswerContract]) -> tuple[dict[str, Errors], list[str]]:
    """Errors by type, and what each is."""
    table: dict[str, Errors] = defaultdict(Errors)
    said: list[str] = []
    for contract in contracts:
        right, wrong = (*rewritings(contract), *paraphrases(contract)), near_misses(contract, limit=50)
        refused = [text for text in right if grade(contract, text).verdict != "correct"]
        accepted = [text for text in wrong if grade(contract, text).reward == 1.0]
        table[contract.type] += Errors(len(right), len(refused), len(wrong), len(accepted))
        said += [f"refused  {contract.type} {contract.gold!r}: {text!r}" for text in refused]
        said += [f"accepted {contract.type} {contract.gold!r}: {text!r}" for text in accepted]
    return dict(table), said


def model_answers(path: Path) -> tuple[dict[str, Errors], list[str]]:
    """Errors on whole answers of models, beside the published labels."""
    table: dict[str, Errors] = defaultdict(Errors)
    said: list[str] = []
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        contract = number_contract(row["ground_truth"].rpartition("A:")[2].strip())
        if contract is None:
            said.append(f"no contract: {row['ground_truth'][-40:]!r}")
            continue
        for model in (name for name, value in row.items() if isinstance(value, dict)):
            label, response = row[model]["is_correct"], row[model]["solution"]
            correct = grade(contract, response).verdict == "correct"
            table[model] += Errors(label, label and not correct, not label, not label and correct)
            if label != correct:
                said.append(f"{'refused ' if label else 'accepted'} {model} gold {contract.gold}: {response[-60:]!r}")
    return dict(table), said


def show(title: str, result: tuple[dict[str, Errors], list[str]]) -> None:
    """A table and the first errors."""
    table, said = result
    print(f"\n{title}", *lines(table), *said[:_SHOWN], *([f"... and {len(said) - _SHOWN} more"] if len(said) > _SHOWN else []), sep="\n")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contracts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shared", type=Path)
    options = parser.parse_args()
    show(f"{options.contracts} contracts of every type, seed {options.seed}", tried(made(options.contracts, options.seed)))
    if options.shared:
        golds = [json.loads(line)["answer"] for line in (options.shared / "math500" / "problems.jsonl").read_text("utf-8").splitlines()]
        show(f"{len(golds)} golds of MATH-500", tried(AnswerContract(type="expression", gold=gold) for gold in golds))
        show(
            "answers of four models to GSM8K, beside the published labels",
            model_answers(options.shared / "gsm8k" / "example_model_solutions.jsonl"),
        )


if __name__ == "__main__":
    main()
