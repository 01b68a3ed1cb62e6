"""Set ``sft``: verified answers of all rounds so far."""

from schemas.datasets.dataset import Dataset, with_source
from schemas.gold.sft import SFT

SFT_SET = Dataset(
    name="sft",
    comment="Verified answers for supervised fine-tuning, of this round and all before it.",
    schema=with_source(*SFT.schema),
    key=("round", "sft_id"),
    segment="round",
)
