"""What generates tokens: each engine behind the one interface of :mod:`gpu_workers.engines.engine`."""
