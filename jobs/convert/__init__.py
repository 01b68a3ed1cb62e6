"""Steps of convert_corpus."""
