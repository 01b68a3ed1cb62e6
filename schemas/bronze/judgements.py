"""bronze.judgements: what a model judge said."""

import pyarrow as pa

from schemas.table import TIMESTAMP, Table, column

JUDGEMENTS = Table(
    name="bronze.judgements",
    comment="Every judgement as delivered: pairwise (each pair in both orders) and pointwise, with its explanation.",
    schema=pa.schema(
        [
            column("run_id", pa.string(), "hand-off run that delivered it"),
            column("round", pa.int32(), "round of what was judged"),
            column("judgement_id", pa.string(), "content_id(kind, trajectory_a, trajectory_b, swapped, template, judge, draw)"),
            column("kind", pa.string(), "pairwise, pointwise"),
            column("trajectory_a", pa.string(), "silver.trajectories; of a pair the one with the lower id"),
            column("trajectory_b", pa.string(), "the other one of a pair", null=True),
            column("swapped", pa.bool_(), "the pair was shown as b, a"),
            column("verdict", pa.string(), "a, b, tie (of the trajectories, not of the places they were shown in), score, invalid"),
            column("score", pa.float64(), "pointwise, in [0, 1]; null where none could be read", null=True),
            column("explanation", pa.string(), "what the judge gave as its reason; null where it failed", null=True),
            column("reply", pa.string(), "its whole reply; null where it failed", null=True),
            column("template", pa.string(), "name@version of the judge's prompt"),
            column("engine", pa.string(), "vllm, openai ..."),
            column("engine_version", pa.string(), "its version"),
            column("judge", pa.string(), "model and revision"),
            column("draw", pa.int32(), "ordinal of the draw"),
            column("seed", pa.int64(), "seed_from(run seed, judgement_id)"),
            column("prompt_tokens", pa.int64(), "usage", null=True),
            column("completion_tokens", pa.int64(), "usage", null=True),
            column("price", pa.float64(), "money, in the currency of conf"),
            column("failure_class", pa.string(), "null where it succeeded; else G§3's classes", null=True),
            column("worker_id", pa.string(), "who made it"),
            column("attempt", pa.int32(), "attempt of the shard that delivered it"),
            column("finished_at", TIMESTAMP, "when"),
            column("raw", pa.string(), "fields of the delivery that have no column, canonical JSON"),
        ]
    ),
    key=("run_id", "judgement_id"),
    partition="run_id",  # several runs ask about one round: another judge, another kind, another checkpoint
    volatile=("worker_id", "attempt", "finished_at"),
    checks={"verdict_known": "verdict IN ('a','b','tie','score','invalid')"},
)
