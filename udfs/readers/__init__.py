"""Streaming readers of incoming files: JSONL, Parquet and plain text, plain or compressed, recognised by their content."""
