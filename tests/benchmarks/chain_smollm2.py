"""A real instruct model through the whole chain of conversion: SmolLM2-135M on CPU, by the vLLM engine in a worker.

    $(sh .ci/vllm.sh cpu) -m tests.benchmarks.chain_smollm2 [--documents 50] [--keep FOLDER]

Documents are prose sections of the language reference that every Python installation carries. A model of this size follows instructions badly;
what is tried is the way, and its funnel is what it is. Printed: states by stage with reasons, and some of what was asked and answered.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path

from gpu_workers.log import Log
from gpu_workers.programs.registry import build_program
from gpu_workers.worker import Worker
from schemas.handoff import CONVERT_SHARD
from schemas.ids import content_id
from tests.engine_runs import lay_run
from tests.vllm.models import smollm2
from udfs.conversion.recipe import Recipe
from udfs.harvest.topics import topic_records
from udfs.replies.outcomes import Pricing, outcome
from udfs.store.parts import judge_commit, read_part


def documents(count):
    """Sections of 400 to 2,500 code points, in order of their ids."""
    sections = sorted((record for record in topic_records() if 400 <= len(record.text) <= 2500), key=lambda record: record.id)
    return [
        {
            "ingest_id": "one", "doc_id": content_id("doc", record.id), "source": "python_reference", "uri": record.id, "title": record.title, "text": record.text,
            "metadata": "{}", "audit": None, "earlier": [],
        }
        for record in sections[:count]
    ]  # fmt: skip


def main():
    """Convert, and print the funnel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=50)
    parser.add_argument("--keep", type=Path, help="where the run is laid and kept; running again goes on from there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        convert(asked.documents, asked.keep or Path(scratch))


def convert(count, folder):
    """Lay a run (or go on with one that is there), drain it, print what became of the documents."""
    recipe, items, model = Recipe(max_chars=2500), documents(count), smollm2()
    settings = {
        "model": str(model), "models": {stage: ["smollm2-135m-instruct", ""] for stage in ("filter", "identify", "generate", "check")},
        "recipe": recipe.to_settings(), "prices": {},
    }  # fmt: skip
    run = lay_run(
        folder / "run", "convert", "vllm", {"s0": items}, CONVERT_SHARD, settings, round=None, policy_id=None, lease_seconds=120.0
    )
    begin = time.perf_counter()
    program = build_program(run, {"in_flight": "16", "max_model_len": "4096", "kv_cache_gib": "2"})
    code = Worker(run, program, "w", Log(run.plan.run_id, "w"), lambda: False).drain()
    commit = run.commit("s0")
    if code or commit is None or judge_commit(run, commit) is not None:
        raise SystemExit(f"exit {code}: no sound commit")
    rows = [row for part in commit.files for row in read_part(run.store, run.plan, part).to_pylist()]
    states, qa, pricing = Counter(), [], Pricing(recipe)
    for item in items:
        held = {**item, "cluster_id": "c", "split": "train", "replies": [row for row in rows if row["doc_id"] == item["doc_id"]]}
        proposed, reached = outcome(held, pricing)
        qa += proposed
        states.update((state["stage"], state["state"], state["reason"]) for state in reached)
    print(f"{len(items)} documents, {len(rows)} replies, {time.perf_counter() - begin:.0f} s")
    for stage in ("filter", "identify", "generate", "evidence", "check"):
        of = [
            f"{n} {state}" + ("" if state == reason else f": {reason}")
            for (name, state, reason), n in sorted(states.items())
            if name == stage
        ]
        print(f"  {stage:9} {', '.join(of) or '-'}")
    print(f"  tokens: {sum(row['prompt_tokens'] for row in rows)} of prompts, {sum(row['completion_tokens'] for row in rows)} drawn")
    for row in qa[:20]:
        print(json.dumps({name: row[name] for name in ("question", "answer", "filter_reason")}, ensure_ascii=False))


if __name__ == "__main__":
    main()
