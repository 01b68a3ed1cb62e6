"""silver.tokens: the tensors of each turn (R§6, R§7.3)."""

import pyarrow as pa

from schemas.table import FLOATS, INTS, Table, column

TOKENS = Table(
    name="silver.tokens",
    comment="Per-token tensors of each turn; every list present has the length of token_ids.",
    schema=pa.schema(
        [
            column("trajectory_id", pa.string(), "silver.trajectories"),
            column("turn_index", pa.int32(), "silver.interactions"),
            column("round", pa.int32(), "round"),
            column("token_ids", INTS, "as the engine saw or sampled them"),
            column("response_mask", INTS, "1 = sampled by the policy and trainable"),
            column("rollout_log_probs", FLOATS, "natural log, at the sampling temperature; null list where unknown, never 0.0", null=True),
            column("policy_version", INTS, "weights that sampled the token; -1 on tokens not sampled"),
        ]
    ),
    key=("trajectory_id", "turn_index"),
    partition="round",
    checks={
        "mask_length": "size(response_mask) = size(token_ids)",
        "version_length": "size(policy_version) = size(token_ids)",
        "logprob_length": "rollout_log_probs IS NULL OR size(rollout_log_probs) = size(token_ids)",
    },
)
