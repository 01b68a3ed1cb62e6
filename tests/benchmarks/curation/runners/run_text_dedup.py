"""text-dedup 0.4: the settings of its README (240 permutations, threshold 0.7, 5-grams), or 14 x 8; ``fixed`` names each cluster by its least row.

The release names a cluster by the number of its group and then keeps the row of that number, which need not be one of the group; the
development branch names it by its least row. ``fixed`` does that and nothing else.
"""

from __future__ import annotations

from _contract import CORES, arguments, write_removed
from datasets import load_from_disk
from pyarrow import parquet
from text_dedup import minhash
from text_dedup.config.algorithms.minhash import MinHashAlgorithmConfig
from text_dedup.config.base import Config
from text_dedup.config.debug import DebugConfig
from text_dedup.config.io import LocalInputConfig, OutputConfig


def _by_least_row() -> None:
    released = minhash.cluster

    def cluster(config: object, ds: object) -> dict[int, int]:
        groups, least = released(config, ds), {}
        for row, group in groups.items():
            least[group] = min(row, least.get(group, row))
        return {row: least[group] for row, group in groups.items()}

    minhash.cluster = cluster


def main() -> None:
    source, out, setting = arguments()
    banding = {"num_perm": 112, "bands": 14, "rows": 8} if "14x8" in setting else {"num_perm": 240}
    if "fixed" in setting:
        _by_least_row()
    read = {"path": "parquet", "data_files": [str(path) for path in sorted(source.glob("*.parquet"))], "split": "train"}
    read["cache_dir"] = str(out / "cache")
    config = Config.model_construct(
        input=LocalInputConfig(read_arguments=read),
        algorithm=MinHashAlgorithmConfig(
            algorithm_name="minhash",
            text_column="text",
            threshold=0.7,
            ngram_size=5,
            num_proc=CORES,
            check_false_positive="verified" in setting,
            **banding,
        ),
        output=OutputConfig(output_dir=str(out / "kept"), keep_index_column=True),
        debug=DebugConfig(),
    )
    minhash.main(config)
    kept = set(load_from_disk(str(out / "kept"))["id"])
    every = {row for path in source.glob("*.parquet") for row in parquet.read_table(path, columns=["id"])["id"].to_pylist()}
    write_removed(out, every - kept)


if __name__ == "__main__":
    main()
