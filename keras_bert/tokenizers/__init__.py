"""Tokenizers: text to the token ids of a vocabulary."""
