"""Set ``eval``: the fixed held-out prompts, the same in every round."""

import pyarrow as pa

from schemas.datasets.dataset import Dataset, with_source
from schemas.gold.rl import RL

#: What a policy is asked and by what it is graded; shared with the regression set.
ASKED: tuple[pa.Field, ...] = tuple(
    RL.schema.field(name)
    for name in (
        "prompt_id", "task_id", "task_version", "task_type", "form", "template", "context_mode", "system", "prompt", "question", "subject",
        "context", "options", "answer", "answer_type", "contract", "verifier",
    )
)  # fmt: skip

EVAL_SET = Dataset(
    name="eval",
    comment="The fixed held-out prompts by which rounds are compared; never trained on.",
    schema=with_source(*ASKED, RL.schema.field("n_samples"), RL.schema.field("seed")),
    key=("prompt_id",),
    segment=None,
)
