"""Deterministic grading of answers under a contract."""

from __future__ import annotations

from udfs.grading.grader import VERIFIER, VERSION, Grade, grade, grade_format

__all__ = ["VERIFIER", "VERSION", "Grade", "grade", "grade_format"]
