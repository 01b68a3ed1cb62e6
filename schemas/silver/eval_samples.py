"""silver.eval_samples: samples of a checkpoint on held-out prompts, outside any round."""

import pyarrow as pa

from schemas.table import FLOATS, INTS, Table, column

EVAL_SAMPLES = Table(
    name="silver.eval_samples",
    comment="Graded samples of `verilake eval`: one checkpoint on the fixed set and on the failures collected since.",
    schema=pa.schema(
        [
            column("eval_id", pa.string(), "content_id(policy, eval digests, sampling, verifier)"),
            column("policy_id", pa.string(), "checkpoint"),
            column("policy_version", pa.int32(), "ordinal of its weights within the campaign"),
            column("eval_set", pa.string(), "fixed, collected"),
            column("eval_digest", pa.string(), "digest of that set: prompts, contracts, samples, seeds, sampling"),
            column("prompt_id", pa.string(), "gold.prompts"),
            column("task_id", pa.string(), "gold.tasks"),
            column("task_type", pa.string(), "kind"),
            column("context_mode", pa.string(), "closed_book, choice"),
            column("cluster_id", pa.string(), "near-duplicate cluster of its document: the unit of pairing"),
            column("sample_index", pa.int32(), "ordinal of the draw"),
            column("seed", pa.int64(), "seed of the draw"),
            column("response", pa.string(), "what was said", null=True),
            column("token_ids", INTS, "tokens of the response", null=True),
            column("log_probs", FLOATS, "their log-probabilities at the sampling temperature", null=True),
            column("finish_reason", pa.string(), "stop, length, error"),
            column("failure_class", pa.string(), "why there is no response", null=True),
            column("reward", pa.float64(), "1 or 0; null where it is unknown", null=True),
            column("verdict", pa.string(), "verdict of the verifier"),
            column("extracted_answer", pa.string(), "what was graded", null=True),
            column("verifier", pa.string(), "name@version"),
            column("worker_id", pa.string(), "which worker sampled it"),
        ]
    ),
    key=("eval_id", "eval_set", "prompt_id", "sample_index"),
    partition="eval_id",
    volatile=("worker_id",),
)
