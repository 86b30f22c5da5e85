"""The tokenization of MediaPipe Tasks, which differs from that in training for some texts.

MediaPipe's BertTokenizer (`mediapipe/tasks/cc/text/tokenizers/bert_tokenizer.h`, `bert_preprocessor_calculator.cc`)
lowercases only A to Z, keeps accents and zero-width characters, splits words only at ASCII white space, and treats
words of more than 100 bytes as unknown. Its metadata has no option for any of that.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.rows import Rows, encode_texts

_MAX_BYTES = 100
_SPACE = "\t\n\f\r "
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
# Characters that are split off as separate words, in addition to punctuation: ASCII's other symbols, and Han.
_SYMBOLS = "$+<=>^`|~"
_HAN = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class MediaPipeTokenizer(EagerWordPiece):
    """A tokenizer that makes the token ids of MediaPipe; methods that it does not override are those of training."""

    def tokenize(self, texts: Any) -> Rows:
        decoded = [text.decode("utf-8", "replace") for text in encode_texts("texts", texts)]
        return Rows.of([[number for word in _words(text) for number in self._match(word)] for text in decoded])

    def _match(self, word: str) -> list[int]:
        is_too_long = len(word.encode()) > _MAX_BYTES
        return [self.unknown_id] if is_too_long else [token.id for token in self.matcher.model.tokenize(word)]


def measure_other_ids(tokenizer: BaseTokenizer, texts: Sequence[str]) -> float:
    """The fraction of texts with other token ids in MediaPipe than from a WordPiece tokenizer that lowercases."""
    theirs = MediaPipeTokenizer(tokenizer.vocabulary, lowercase=True).tokenize(texts).to_list()
    ours = tokenizer.tokenize(texts).to_list()
    return sum(one != other for one, other in zip(ours, theirs, strict=True)) / len(texts)


def _words(text: str) -> Iterator[str]:
    word = ""
    for character in text.translate(_LOWER):
        if character not in _SPACE and not _stands_alone(character):
            word += character
            continue
        if word:
            yield word
            word = ""
        if character not in _SPACE:
            yield character
    if word:
        yield word


def _stands_alone(character: str) -> bool:
    if character in _SYMBOLS or unicodedata.category(character).startswith("P"):
        return True
    return any(first <= ord(character) <= last for first, last in _HAN)
