"""The kinds of vocabularies."""

from typing import Literal

VocabularyKind = Literal["wordpiece", "bpe", "unigram"]

# The names of the models of the library `tokenizers` -> the kinds of vocabularies that it trains.
MODELS: dict[str, VocabularyKind] = {"BPE": "bpe", "Unigram": "unigram"}
