"""Decontamination: which text holds which benchmark item, by how much of the item, and where."""
