"""silver.rewards: every component of every reward (R§7.4)."""

import pyarrow as pa

from schemas.table import STRINGS, Table, column

REWARDS = Table(
    name="silver.rewards",
    comment="One row per trajectory, reward and verifier run; null value = unknown, 0 = the candidate's own fault (law 6).",
    schema=pa.schema(
        [
            column("trajectory_id", pa.string(), "silver.trajectories"),
            column("reward_name", pa.string(), "correct, format, ..."),
            column("verifier_run_id", pa.string(), "content_id(verifier name, version, contract): one verdict each"),
            column("round", pa.int32(), "round"),
            column("kind", pa.string(), "rule, model, execution, human, shaping"),
            column("value", pa.float64(), "in the verifier's declared range; null unless known", null=True),
            column("weight", pa.float64(), "weight in outcome_reward"),
            column("is_outcome", pa.bool_(), "counts for outcome_reward"),
            column("verdict", pa.string(), "correct, incorrect, partial, unparsable_gold, unparsable_pred, timeout, error, skipped"),
            column("verifier_name", pa.string(), "which grader"),
            column("verifier_version", pa.string(), "its version"),
            column("verifier_config_hash", pa.string(), "hash of the contract it was given"),
            column("extracted_answer", pa.string(), "what it took for the answer", null=True),
            column("gold_answer", pa.string(), "what it compared with", null=True),
            column("flags", STRINGS, "multiple_answers, answer_not_last, ..."),
            column("low", pa.float64(), "declared range of value; null where written before ranges were declared", null=True),
            column("high", pa.float64(), "likewise", null=True),
            column("tests_passed", pa.int32(), "tests that passed; null where nothing was run", null=True),
            column("tests_total", pa.int32(), "tests that were meant to run, never 0", null=True),
            column("sandbox_tier", pa.string(), "A-D of udfs.sandbox; null where no code ran", null=True),
            column(
                "detail",
                pa.string(),
                "what else there is to say, canonical JSON: a judge's explanation, the first failing test ...",
                null=True,
            ),
        ]
    ),
    key=("trajectory_id", "reward_name", "verifier_run_id"),
    partition="round",
    checks={
        "verdict_known": "verdict IN ('correct','incorrect','partial','unparsable_gold','unparsable_pred','timeout','error','skipped')",
    },
)
