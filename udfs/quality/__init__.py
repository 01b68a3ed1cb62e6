"""Quality heuristics of documents: figures here, thresholds in the configuration."""
