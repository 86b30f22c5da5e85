"""Sparse vectors: a weight for each token of the vocabulary, from the head of masked tokens (SPLADE)."""
