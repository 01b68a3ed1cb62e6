"""Checks that a candidate question must pass before it becomes a task."""
