"""Pieces of words."""

from components.dsl.artifact import Artifact


class Vocabulary(Artifact):
    """`vocab.txt`, one piece a line, and `tokenizer.json`: {"lowercase": true}."""
