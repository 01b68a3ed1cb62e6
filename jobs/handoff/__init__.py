"""The job side of the hand-off: laying a run, letting workers drain it, taking its commits in."""
