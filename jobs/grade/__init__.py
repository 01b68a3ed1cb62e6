"""Grading of a plain file: where rows come from, where they go, what is told."""
