"""A demonstration corpus from what any Python installation carries; nothing of it is committed."""
