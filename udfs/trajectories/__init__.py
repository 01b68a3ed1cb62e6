"""Rollouts taken apart, graded, judged and chosen from: the arithmetic of the jobs ingest_rollouts, check_quality and feed_back."""
