"""verilake's lake path without the lake: digest and band keys by ``mapInArrow``, exact twins, near duplicates, as ``curate`` does them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))

import pyarrow as pa
from _contract import CORES, arguments, write_removed
from pyspark.sql import functions as F

from jobs.config import load_config
from jobs.curate.exact import exact_twins
from jobs.curate.near import near_duplicates
from jobs.session import build_session
from udfs.dedup.digest import digests
from udfs.dedup.kernel import normal_form, signatures
from udfs.dedup.minhash import MinHashScheme, key_lists


def main() -> None:
    source, out, _ = arguments()
    config = load_config(None, [], [f"spark.master=local[{CORES}]"])
    curate = config.curate
    scheme, kernel = MinHashScheme(curate.shingle, curate.bands, curate.rows), "numba"

    def profiled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            form = normal_form(batch.column("text"))
            minima, counts = signatures(form, scheme.shingle, *scheme.permutations, kernel)
            keys = key_lists(minima, counts[:, 0], scheme)
            columns = [batch.column("doc_id"), digests(form, kernel), keys, pa.array(counts[:, 1])]
            yield pa.RecordBatch.from_arrays(columns, names=["doc_id", "digest", "band_keys", "n_words"])

    spark = build_session(config, extra={"spark.local.dir": str(out / "spark"), "spark.sql.warehouse.dir": str(out / "warehouse")})
    texts = (
        spark.read.parquet(str(source))
        .select(F.lpad(F.col("id").cast("string"), 12, "0").alias("doc_id"), "text")
        .where("text is not null")
    )
    texts.mapInArrow(profiled, "doc_id string, digest binary, band_keys array<long>, n_words long").write.parquet(str(out / "profiles"))
    rank = F.struct(F.lit(1).alias("ingest_seq"), (-F.col("n_words")).alias("fewer_words"), "doc_id").alias("rank")
    pool = spark.read.parquet(str(out / "profiles")).select(rank, "digest", "band_keys")
    exact_twins(pool).write.parquet(str(out / "twins"))
    twins = spark.read.parquet(str(out / "twins"))
    unique = pool.join(twins.select("doc_id"), F.col("rank.doc_id") == F.col("doc_id"), "left_anti")
    near_duplicates(unique, texts, curate, 1).write.parquet(str(out / "near"))
    near = spark.read.parquet(str(out / "near"))
    write_removed(out, {int(row.doc_id) for row in twins.select("doc_id").union(near.select("doc_id")).collect()})
    spark.stop()
    shutil.rmtree(out / "spark", ignore_errors=True)


if __name__ == "__main__":
    main()
