"""Verifiers by name for rows of plain files, and the processes that run them."""
