"""What the pieces of a vocabulary are."""

from typing import Literal

VocabularyKind = Literal["wordpiece", "bpe", "unigram"]

# What `tokenizers` calls the models of the kinds that it finds the pieces of.
MODELS: dict[str, VocabularyKind] = {"BPE": "bpe", "Unigram": "unigram"}
