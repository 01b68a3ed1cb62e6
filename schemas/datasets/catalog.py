"""All published sets by name, in the order in which they are written."""

from schemas.datasets.dataset import Dataset
from schemas.datasets.eval import EVAL_SET
from schemas.datasets.preferences import PREFERENCES_SET
from schemas.datasets.regression import REGRESSION_SET
from schemas.datasets.rl import RL_SET
from schemas.datasets.sft import SFT_SET

ALL_SETS: tuple[Dataset, ...] = (RL_SET, SFT_SET, PREFERENCES_SET, EVAL_SET, REGRESSION_SET)

SETS: dict[str, Dataset] = {dataset.name: dataset for dataset in ALL_SETS}
