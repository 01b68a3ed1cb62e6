"""distributed-curator on Spark 3.5, local: its README's settings (threshold 0.8, 64 hashes in 8 bands), partitions for two cores."""

from __future__ import annotations

import os
import sys

from _contract import CORES, arguments, write_removed
from distributed_curator import get_jar_path, partition_aware_deduplicate
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main() -> None:
    source, out, _ = arguments()
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers of the same environment
    parts = 4 * CORES
    opens = " ".join(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.misc", "sun.nio.ch"))
    spark = (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.jars", get_jar_path())
        .config("spark.driver.memory", "8g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", str(parts))
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
        .config("spark.driver.extraJavaOptions", opens)
        .config("spark.local.dir", str(out / "spark"))
        .config("spark.sql.warehouse.dir", str(out / "warehouse"))
        .getOrCreate()
    )
    table = spark.read.parquet(str(source)).select(F.col("id").cast("string").alias("doc_id"), "text")
    marked = partition_aware_deduplicate(
        spark=spark, input_df=table, text_column="text", similarity_threshold=0.8, num_hashes=64, num_bands=8, num_partitions=parts
    )
    marked.write.mode("overwrite").parquet(str(out / "marked"))
    gone = spark.read.parquet(str(out / "marked")).where("is_duplicate").select("doc_id").collect()
    write_removed(out, {int(row.doc_id) for row in gone})
    spark.stop()


if __name__ == "__main__":
    main()
