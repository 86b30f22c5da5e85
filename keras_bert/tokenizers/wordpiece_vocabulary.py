"""BERT's WordPiece vocabulary, without the code that splits text into its tokens."""

from collections.abc import Sequence
from typing import Any

from keras_bert.options.data import Lowercasing
from keras_bert.tokenizers.base import BaseTokenizer

PAD, UNKNOWN, CLS, SEP, MASK = SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Those of MPNet, whose vocabulary begins with three of them; its rows are RoBERTa's: `<s> A </s></s> B </s>`.
_MPNET, _MPNET_START = ("<pad>", UNKNOWN, "<s>", "</s>", "<mask>"), ("<s>", "<pad>", "</s>")
CONTINUATION = "##"

# `max_input_chars_per_word` of google-research/bert's WordpieceTokenizer.
MAX_CHARACTERS = 100

# `kMaxVocabTokenLengthInUTF8Bytes` of tensorflow-text.
_MAX_TOKEN_BYTES = 256


def find_special_tokens(vocabulary: Sequence[str]) -> tuple[str, ...]:
    """The special tokens of a WordPiece vocabulary, in the order of `SPECIAL_TOKENS`: BERT's or MPNet's."""
    return _MPNET if tuple(vocabulary[:3]) == _MPNET_START else SPECIAL_TOKENS


class WordPieceVocabulary(BaseTokenizer):
    """The part of a WordPiece tokenizer that only depends on its vocabulary, by id, and on `lowercase`."""

    kind = "wordpiece"

    def __init__(self, vocabulary: Sequence[str], lowercase: Lowercasing) -> None:
        if not vocabulary:
            raise ValueError("Tokenizer.vocabulary must hold at least the special tokens, got no tokens")
        seen: set[str] = set()
        for position, token in enumerate(vocabulary):
            if not token or token in seen:
                rule = "hold each token once" if token else "hold no empty token"
                raise ValueError(f"Tokenizer.vocabulary must {rule}, got {token!r} as token {position}")
            if len(token.encode()) > _MAX_TOKEN_BYTES:
                rule = f"hold tokens of at most {_MAX_TOKEN_BYTES} bytes"
                raise ValueError(f"Tokenizer.vocabulary must {rule}, got {token!r} as token {position}")
            seen.add(token)
        special = find_special_tokens(vocabulary)
        super().__init__(vocabulary, special, between=2 if special == _MPNET else 1)
        self.lowercase: Lowercasing = lowercase

    def definition(self) -> dict[str, Any]:
        return {"lowercase": self.lowercase}

    def continues(self, token: str) -> bool:
        return token.startswith(CONTINUATION)

    def count_bytes(self, token: str) -> int:
        """See `BaseTokenizer`; bytes of the normalized text."""
        return len(token.removeprefix(CONTINUATION).encode()) + (not self.continues(token))
