"""silver.task_stats: what a policy can do on a prompt."""

import pyarrow as pa

from schemas.table import Table, column

TASK_STATS = Table(
    name="silver.task_stats",
    comment="Solve rates of a prompt under a policy in a round, pooled posterior, and group statistics.",
    schema=pa.schema(
        [
            column("prompt_id", pa.string(), "gold.prompts"),
            column("policy_id", pa.string(), "checkpoint that sampled"),
            column("sampling_hash", pa.string(), "content_id of temperature, top_p, logprobs mode, engine"),
            column("context_mode", pa.string(), "closed_book, open_book, choice"),
            column("round", pa.int32(), "round"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_type", pa.string(), "kind of task"),
            column("role", pa.string(), "role in this round"),
            column("n", pa.int32(), "samples"),
            column("n_valid", pa.int32(), "samples with a known reward"),
            column("k", pa.int32(), "samples with verdict correct"),
            column("pooled_n", pa.int32(), "valid samples pooled over the recent rounds of conf"),
            column("pooled_k", pa.int32(), "correct samples pooled"),
            column("guess_rate", pa.float64(), "chance level: 1/options for choice, else 0"),
            column("posterior_alpha", pa.float64(), "Beta posterior after pooling, chance removed"),
            column("posterior_beta", pa.float64(), "Beta posterior after pooling, chance removed"),
            column("posterior_mean", pa.float64(), "alpha / (alpha + beta)"),
            column("p_in_band", pa.float64(), "posterior probability that the solve rate lies in the capability band"),
            column("reward_mean", pa.float64(), "over valid samples, float64 in order of sample_index", null=True),
            column("reward_std_unbiased", pa.float64(), "n-1 in the denominator; exactly 0 where max-min <= 1e-8", null=True),
            column("reward_std_population", pa.float64(), "n in the denominator; exactly 0 likewise", null=True),
            column("zero_variance", pa.bool_(), "all valid rewards equal"),
            column("majority_answer", pa.string(), "commonest normalised answer, ties by text", null=True),
            column("majority_count", pa.int32(), "samples that gave it"),
            column("majority_is_gold", pa.bool_(), "the grader calls it correct", null=True),
        ]
    ),
    key=("prompt_id", "policy_id", "sampling_hash", "context_mode", "round"),
    partition="round",
    checks={"counts_add_up": "k <= n_valid AND n_valid <= n"},
)
