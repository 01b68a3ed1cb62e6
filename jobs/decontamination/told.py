"""What decontaminate says to people: what holds an item, what it reached, what is left for them to do. No text of an item is shown."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.decontamination.affected import Affected
from jobs.views.visible import visible

#: Matches that are named one by one.
_NAMED = 20


def lines_of(found: Affected, *, action: str, retire: bool) -> list[str]:
    """The report, line by line."""
    if not found.matches:
        return ["nothing in this lake holds an item of the sets in force"]
    return [*_reached(found), *_matches(found), *_offered(found), *_next(found, action=action, retire=retire)]


def _reached(found: Affected) -> Iterator[str]:
    for benchmark, count in found.benchmarks.items():
        yield f"{benchmark}: {count} matches"
    yield f"documents: {len(found.documents)}, {len(found.kept)} of them kept by curation so far"
    yield f"candidate questions: {len(found.questions)}"
    eval_note = f", {len(found.against_eval)} of them ask what an eval task of this lake asks" if found.against_eval else ""
    yield f"training tasks: {len(found.own_text)} by their own text{eval_note}; {len(found.of_documents)} made from such documents"
    rounds = ", ".join(f"{number} ({tasks} tasks)" for number, tasks in found.rounds.items())
    yield f"rounds that planned them: {rounds or 'none'}"


def _matches(found: Affected) -> Iterator[str]:
    for match in found.matches[:_NAMED]:
        place = f"{match['span_start']}:{match['span_end']}"
        yield (
            f"  {match['kind']:<8} {match['row_id'][:12]}  {visible(match['benchmark'], 60)} {visible(match['item_id'], 40)} "
            f"{match['part']} {match['coverage']:.2f} at {place}"
        )
    if len(found.matches) > _NAMED:
        yield f'  ... and {len(found.matches) - _NAMED} more: verilake sql "SELECT * FROM silver.contamination"'


def _offered(found: Affected) -> Iterator[str]:
    for held in found.sets:
        where = held.tag if held.tag.startswith("round-") else "in the workspace now"
        yield f"published set {held.dataset}, {where}: {held.rows} rows"
    for checkpoint in found.checkpoints:
        yield f"checkpoint {visible(checkpoint.checkpoint_id, 60)} was offered {', '.join(checkpoint.datasets)} of {checkpoint.tag}"


def _next(found: Affected, *, action: str, retire: bool) -> Iterator[str]:
    if found.kept and action == "reject":
        yield "next: verilake curate, convert, admit leave these documents out of the pool"
    if found.tasks and not retire:
        yield f"next: verilake decontaminate --retire keeps these {len(found.tasks)} tasks out of later rounds; closed rounds stay as they are"
