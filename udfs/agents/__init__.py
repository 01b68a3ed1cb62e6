"""What an agent is given: where it acts, and what of its task it may see."""
