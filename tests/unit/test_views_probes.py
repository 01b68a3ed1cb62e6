"""Probes and contrasts as a person reads them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.views.contrast import Contrast, Rate, contrasts
from jobs.views.reader import LakeReader
from jobs.views.render_probes import contrast_line, probe_lines
from jobs.workspace import Workspace
from schemas.ids import canonical_json
from schemas.silver.task_stats import TASK_STATS
from tests.lake_rows import filled

TRIED = {"right": 21, "right_refused": 1, "refused": "12 km", "near_misses": 8, "near_misses_accepted": 0, "accepted": None}

LINES = [
    ({"engine": "passed"}, "the engine's own filters: passed"),
    ({"contract": TRIED}, "contract tried on itself: 20 of 21 right answers accepted, 8 of 8 near misses refused; refuses '12 km'"),
    (
        {"contract": TRIED | {"right_refused": 0, "near_misses_accepted": 2, "accepted": "24", "repaired": {"tolerance": [20.0, 0.5]}}},
        "contract tried on itself: 21 of 21 right answers accepted, 6 of 8 near misses refused; accepts '24'; repaired: tolerance [20.0, 0.5]",
    ),
    # as rules 1 wrote it, without counts
    ({"contract": {"right": 6, "near_misses": 8, "refused": None, "accepted": "24"}}, "contract tried on itself: 6 of 6 right answers accepted, 7 of 8 near misses refused; accepts '24'"),
    ({"contract": {"tests": 3, "problems": []}}, "contract tried on itself: 3 tests; its reference passes, programs that know nothing do not"),
    ({"contract": {"tests": 1, "problems": ["weak: echo"]}}, "contract tried on itself: 1 tests; weak: echo"),
    ({"leak": {"word": "1939", "where": "question"}}, "answer given away by its prompt: '1939' stands in the question"),
    ({"collision": {"doc_id": "d9", "answer": "x"}}, "other answers in the corpus: 'x' in document d9"),
    ({"question": {"reason": "duplicate_question", "other": "q1"}}, "question asked before: duplicate question: q1"),
    ({"base_rate": "not compared"}, "answer's share of its kind: not compared"),
    (
        {"base_rate": {"rank": 2, "cap": 3, "items_of_kind": 20, "items_of_type": 50, "same_answer": 4}},
        "answer's share of its kind: number 2 with this answer, 3 allowed among 20 of its kind; 4 of 50 (8.0%) of its answer type have it",
    ),
    ({"base_rate": {"rank": 2, "cap": 3, "items_of_kind": 20}}, "answer's share of its kind: number 2 with this answer, 3 allowed among 20 of its kind"),
    ({"without_subject": {"same_wording": 9, "same_answer": 3}}, "guessable without its subject: 3 of 9 (33.3%) of those worded alike have its answer"),
    ({"siblings": {"answered_by": "q7", "count": 2, "answers": "q8"}}, "answered by a sibling: 2 state its answer, q7 first; states the answer of q8"),
    ({"evidence": {"why": "other text than was quoted", "span": [1, 2]}}, "evidence span: span [1, 2], why other text than was quoted"),
    ({"made_later": {"some": 1}}, "made_later: some 1"),
]  # fmt: skip


@pytest.mark.parametrize(("probes", "line"), LINES, ids=[line[:40] for _, line in LINES])
def test_a_probe_is_a_line(probes, line):
    assert probe_lines(canonical_json(probes)) == [line]


def test_probes_stand_in_the_order_of_the_checks_and_what_is_no_json_is_shown_as_it_is():
    assert [line.split(":")[0] for line in probe_lines('{"siblings":"none","zz":1,"engine":"passed"}')] == [
        "the engine's own filters", "answered by a sibling", "zz",
    ]  # fmt: skip
    assert probe_lines("not json") == ["not json"]
    assert probe_lines("{}") == []


# Wilson's intervals at 95 %: 0 of 8 up to z²/(8 + z²) = 0.324; 40 of 40 from 40/(40 + z²) = 0.912; 8 of 8 from 0.676.
@pytest.mark.parametrize(
    ("opened", "closed", "gap", "reading"),
    [
        (Rate(8, 8), Rate(0, 8), 1.0, "the passage helps"),
        (Rate(0, 8), Rate(0, 8), 0.0, "fails with its passage before it: the item, or the policy, is at fault"),
        (Rate(0, 0), Rate(40, 40), None, "known without its passage"),
        (Rate(3, 4), Rate(2, 8), 0.5, ""),
        (Rate(0, 3), Rate(0, 0), None, ""),  # too few to say: up to 0.56
    ],
    ids=["helps", "fails", "known", "unsure", "few"],
)
def test_what_a_contrast_says(opened, closed, gap, reading):
    contrast = Contrast("t1", "p1", opened, closed)
    assert (contrast.gap, contrast.reading) == (gap, reading)


def test_a_contrast_is_a_line_with_intervals():
    assert contrast_line(Contrast("t1", "reader-1", Rate(8, 8), Rate(0, 8))) == (
        "reader-1: open book 8 of 8 (0.68 to 1.00), closed book 0 of 8 (0.00 to 0.32), gap +1.00 (the passage helps)"
    )
    assert contrast_line(Contrast("t1", "p", Rate(0, 0), Rate(1, 2))) == "p: open book not sampled, closed book 1 of 2 (0.09 to 0.91)"


def stat(task, policy, mode, k, n, number):
    return filled(
        TASK_STATS, prompt_id=f"{task}-{mode}", task_id=task, policy_id=policy, context_mode=mode, k=k, n=n + 1, n_valid=n, round=number
    )


def test_rates_are_summed_over_rounds_by_task_and_policy(tmp_path):
    workspace = Workspace.init(tmp_path / "ws")
    rows = [
        stat("t1", "p1", "open_book", 3, 4, 1), stat("t1", "p1", "open_book", 4, 4, 2), stat("t1", "p1", "closed_book", 1, 8, 1),
        stat("t1", "p1", "choice", 8, 8, 1),  # can be guessed: neither
        stat("t1", "p2", "closed_book", 2, 8, 3), stat("t2", "p1", "choice", 8, 8, 1), stat("t3", "p1", "open_book", 1, 1, 1),
    ]  # fmt: skip
    write_deltalake(str(workspace.lake_root / TASK_STATS.path), pa.Table.from_pylist(rows, schema=TASK_STATS.schema))
    reader = LakeReader.open(workspace)
    assert contrasts(reader, ["t2", "t1"]) == [
        Contrast("t1", "p1", Rate(7, 8), Rate(1, 8)),
        Contrast("t1", "p2", Rate(0, 0), Rate(2, 8)),
    ]
    assert contrasts(reader, []) == []
