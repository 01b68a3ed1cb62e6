"""datatrove: its four MinHash stages by LocalPipelineExecutor. Its defaults are word 5-grams, 14 bands x 8 rows."""

from __future__ import annotations

import gzip
import json

from _contract import CORES, arguments, write_removed
from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupBuckets
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers.jsonl import JsonlWriter
from datatrove.utils.typeshelper import Languages


def main() -> None:
    source, out, _ = arguments()
    config, files = MinhashConfig(), len(list(source.glob("*.parquet")))

    def reader() -> ParquetReader:
        return ParquetReader(str(source), text_key="text", id_key="id")

    def stage(name: str, tasks: int, *steps: object) -> None:
        LocalPipelineExecutor(pipeline=list(steps), tasks=tasks, workers=min(tasks, CORES), logging_dir=str(out / "logs" / name)).run()

    sig, buckets, gone = str(out / "signatures"), str(out / "buckets"), str(out / "remove_ids")
    stage("1", files, reader(), MinhashDedupSignature(output_folder=sig, config=config, language=Languages.english))
    stage("2", config.num_buckets, MinhashDedupBuckets(input_folder=sig, output_folder=buckets, config=config))
    stage("3", 1, MinhashDedupCluster(input_folder=buckets, output_folder=gone, config=config))
    dropped = JsonlWriter(str(out / "removed"))
    stage("4", files, reader(), MinhashDedupFilter(input_folder=gone, exclusion_writer=dropped), JsonlWriter(str(out / "kept")))
    ids = []
    for path in (out / "removed").glob("*.jsonl.gz"):
        with gzip.open(path, "rt") as lines:
            ids += [int(json.loads(line)["id"]) for line in lines]
    write_removed(out, ids)


if __name__ == "__main__":
    main()
