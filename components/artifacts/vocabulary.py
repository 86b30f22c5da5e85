"""Pieces of words."""

from components.dsl.artifact import Artifact


class Vocabulary(Artifact):
    """`vocab.txt`, one piece a line, and `tokenizer.json`.

    Of word pieces the latter says {"lowercase": true}; of others it is what Hugging Face's `tokenizers` reads.
    """
