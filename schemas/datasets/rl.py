"""Set ``rl``: the training prompts of one round."""

from schemas.datasets.dataset import Dataset, with_source
from schemas.gold.rl import RL

RL_SET = Dataset(
    name="rl",
    comment="Training prompts of the round, with contracts and what the policy could do on them.",
    schema=with_source(*RL.schema),
    key=("prompt_id",),
    segment="origin",
)
