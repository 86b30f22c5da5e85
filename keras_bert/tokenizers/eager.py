"""Tokenizers without TensorFlow: the same ids in NumPy, by Hugging Face's `tokenizers`.

They load in milliseconds, where TensorFlow takes seconds: for predictions of an exported file.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.options.data import Lowercasing
from keras_bert.tokenizers.base import BaseTokenizer, count_kept_tokens
from keras_bert.tokenizers.rows import Rows, encode_texts, tokenize_rows, tokenize_rows_with_offsets
from keras_bert.tokenizers.subword_vocabulary import SubwordVocabulary
from keras_bert.tokenizers.wordpiece_vocabulary import CONTINUATION, MAX_CHARACTERS, UNKNOWN, WordPieceVocabulary

Array = np.ndarray[Any, Any]


class EagerTokenizer(BaseTokenizer):
    """A tokenizer whose rows are NumPy arrays; texts are lists of `str`, or of `bytes` that hold UTF-8."""

    matcher: Any

    def tokenize(self, texts: Any) -> Rows:
        return tokenize_rows(self.matcher, encode_texts("texts", texts))

    def tokenize_with_offsets(self, texts: Any) -> tuple[Rows, Rows, Rows]:
        return tokenize_rows_with_offsets(self.matcher, encode_texts("texts", texts))

    def encode(
        self, texts: Any, pairs: Any = None, *, max_length: int, pad_to_longest: bool = False
    ) -> dict[str, Array]:
        sides = [encode_texts("texts", texts)] + ([] if pairs is None else [encode_texts("pairs", pairs)])
        self.check_room(len(sides), max_length)
        self.report_markers(text for side in sides for text in side)
        parts = [self.tokenize(side) for side in sides]
        if len(sides[0]) != len(sides[-1]):
            raise ValueError(f"pairs must hold as many texts as texts does, {len(sides[0])}, got {len(sides[-1])}")
        lengths = count_kept_tokens(
            [part.row_lengths() for part in parts], max_length - self.special_count(len(parts)), np
        )
        width = int(np.sum(lengths, axis=0).max()) + self.special_count(len(parts)) if pad_to_longest else max_length
        return self._build_inputs([part.to_list() for part in parts], lengths, width)

    def _build_inputs(self, parts: list[list[list[int]]], lengths: list[Array], width: int) -> dict[str, Array]:
        """Builds the model's inputs (batch, width) from the first tokens of each part."""
        token_ids = np.full((len(parts[0]), width), self.pad_id, np.int32)
        segment_ids, padding_mask = np.zeros_like(token_ids), np.zeros_like(token_ids)
        for number, rows in enumerate(zip(*parts, strict=True)):
            row, separators = [self.cls_id], 0
            for segment, (ids, kept) in enumerate(zip(rows, lengths, strict=True)):
                row += [self.sep_id] * separators
                start = len(row)
                row += [*ids[: kept[number]], self.sep_id]
                segment_ids[number, start : len(row)] = segment * self.second_segment
                separators = self.between - 1
            token_ids[number, : len(row)] = row
            padding_mask[number, : len(row)] = 1
        return {"token_ids": token_ids, "segment_ids": segment_ids, "padding_mask": padding_mask}


class EagerWordPiece(WordPieceVocabulary, EagerTokenizer):
    """The ids of `Tokenizer`, without TensorFlow; arguments and errors are those of `WordPieceVocabulary`."""

    def __init__(self, vocabulary: Sequence[str], lowercase: Lowercasing) -> None:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

        super().__init__(vocabulary, lowercase)
        self.matcher = Tokenizer(
            models.WordPiece(
                vocab=self._ids,
                unk_token=UNKNOWN,
                max_input_chars_per_word=MAX_CHARACTERS,
                continuing_subword_prefix=CONTINUATION,
            )
        )
        self.matcher.normalizer = normalizers.BertNormalizer(lowercase=bool(lowercase), strip_accents=lowercase is True)
        self.matcher.pre_tokenizer = pre_tokenizers.BertPreTokenizer()


class EagerSubwords(SubwordVocabulary, EagerTokenizer):
    """The ids of `SubwordTokenizer`, without TensorFlow; arguments and errors are those of `SubwordVocabulary`."""
