"""The embedded policy ``reader`` (E§2): BM25, candidate spans, a softmax with a few dozen weights, exact token log-probabilities."""
