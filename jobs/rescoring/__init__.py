"""Which sampled turns rescore_round has scored."""
