"""What judge_round asks about and what came of it."""
