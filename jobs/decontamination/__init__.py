"""The parts of decontaminate: benchmark sets, screening, what a match reached, what is said of it."""
