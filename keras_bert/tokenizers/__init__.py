"""Tokenizers: texts to the tokens of a vocabulary."""
