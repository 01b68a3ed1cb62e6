"""The extractive conversion engine and its leak check."""

from udfs.extract.engine import VERSION, extract, patterns
from udfs.extract.leak import leaks

__all__ = ["VERSION", "extract", "leaks", "patterns"]
