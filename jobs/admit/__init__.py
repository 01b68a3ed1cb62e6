"""Transforms of admit_tasks."""
