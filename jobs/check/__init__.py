"""Parts of check_quality: verdicts, metrics, workers."""
