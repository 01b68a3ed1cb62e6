"""The parts of plan_round: who may be planned, and who is."""
