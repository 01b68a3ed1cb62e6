"""Published sets, one module each: the Parquet files that leave the house."""
