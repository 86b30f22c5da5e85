"""What the pieces of a vocabulary are."""

from typing import Literal

VocabularyKind = Literal["wordpiece", "bpe", "unigram"]
