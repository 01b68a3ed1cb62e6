"""Parts of add_tasks."""
