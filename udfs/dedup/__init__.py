"""Exact and near duplicates: digests, shingles, MinHash signatures, band keys, exact Jaccard."""
