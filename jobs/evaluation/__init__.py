"""Evaluation of one checkpoint on held-out prompts, outside any round."""
