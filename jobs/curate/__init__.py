"""The parts of curate_corpus: profiles, heuristics, exact and near duplicates, verdicts."""
