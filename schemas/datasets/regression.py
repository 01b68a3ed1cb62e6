"""Set ``regression``: held-out prompts that a round failed, collected over all rounds so far."""

from schemas.datasets.dataset import Dataset, with_source
from schemas.datasets.eval import ASKED
from schemas.gold.regression import REGRESSION

REGRESSION_SET = Dataset(
    name="regression",
    comment="Held-out prompts that a round failed, with the policy that failed them.",
    schema=with_source(*ASKED, *(REGRESSION.schema.field(name) for name in ("round", "policy_id", "n_valid", "k", "why"))),
    key=("round", "prompt_id"),
    segment="round",
)
