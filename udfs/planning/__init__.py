"""How many prompts of which kind a round takes."""
