"""What is computed: plain Python, numpy and numba cores that Spark and the GPU workers only call. Never imports pyspark."""
