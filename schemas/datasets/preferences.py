"""Set ``preferences``: pairs of all rounds so far."""

from schemas.datasets.dataset import Dataset, with_source
from schemas.gold.preferences import PREFERENCES

PREFERENCES_SET = Dataset(
    name="preferences",
    comment="Preference pairs within one prompt, of this round and all before it.",
    schema=with_source(*PREFERENCES.schema),
    key=("round", "pair_id"),
    segment="round",
)
