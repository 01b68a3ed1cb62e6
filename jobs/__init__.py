"""The Spark batches, the lake, and the ``verilake`` command. Never imports torch, vllm or gpu_workers."""
