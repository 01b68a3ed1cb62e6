"""Checking of question-answer items in a plain file: what only the whole file can say of a row."""
