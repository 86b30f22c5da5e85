"""A tokenizer of words parted by blanks, in plain Python: task tests run where TensorFlow is not installed, too."""

import itertools

import numpy as np

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Rows(list):
    @property
    def flat_values(self):
        return np.array([*itertools.chain(*self)], "int32")

    def to_list(self):
        return list(self)

    def row_lengths(self):
        return [len(row) for row in self]


class Special:
    """BERT's special tokens and word marks, as the real tokenizer has them."""

    pad_id, unknown_id, cls_id, sep_id, mask_id = special_ids = tuple(range(5))
    mask, between, second_segment = "[MASK]", 1, 1

    def special_count(self, texts):
        return texts + 1

    def word_marks(self):
        return np.array([piece.startswith("##") for piece in self.vocabulary])

    def tokenize_words(self, words):
        return self.tokenize(words)


class PlainTokenizer(Special):
    kind = "wordpiece"

    def __init__(self, words, lowercase=True):
        self.vocabulary = (*SPECIAL, *words)
        self.vocabulary_size = len(self.vocabulary)
        self.lowercase = lowercase

    def tokenize(self, texts):
        ids = {word: number for number, word in enumerate(self.vocabulary)}
        return Rows([[ids.get(word, self.unknown_id) for word in text.split()] for text in texts])

    def encode(self, texts, pairs=None, *, max_length, pad_to_longest=False):
        if not texts:
            raise ValueError("texts must hold at least one text, got none")
        rows, segments = [], []
        for number, first in enumerate(self.tokenize(texts)):
            second = [] if pairs is None else [*self.tokenize(pairs[number : number + 1])[0], self.sep_id]
            first = first[: max_length - 2 - len(second)]
            rows.append([self.cls_id, *first, self.sep_id, *second])
            segments.append([0] * (len(first) + 2) + [1] * len(second))
        width = max(map(len, rows)) if pad_to_longest else max_length
        pad = lambda lists: np.array([row + [0] * (width - len(row)) for row in lists], "int32")  # noqa: E731
        return {
            "token_ids": pad(rows),
            "segment_ids": pad(segments),
            "padding_mask": pad([[1] * len(row) for row in rows]),
        }
