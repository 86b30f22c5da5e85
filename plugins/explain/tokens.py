"""The tokens of a row with their places in the text, for readers."""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np

from keras_bert.tokenizers.base import BaseTokenizer, count_kept_tokens

Array = np.ndarray

# The name of a learned vector of a prompt, which no text has.
_LEARNED_VECTOR = "[PROMPT]"


@dataclasses.dataclass(frozen=True)
class Tokens:
    """The tokens of one text or pair, as a model reads them.

    Attributes:
        texts: the text, or both texts of a pair.
        tokens: entries of the vocabulary, special tokens included.
        segments: the text that each token belongs to, 0 or 1: int32 (tokens,).
        offsets: the place of each token in its text, `text[start:end]`, int32 (tokens, 2); 0 and 0 for special tokens.
        words: the number of the word that each token is a part of, counted through both texts, int32 (tokens,); -1 for
            special tokens. A word is a token with those that continue it, see `BaseTokenizer.continues`.
        dropped: the number of tokens of each text that the row has no room for.
        answer: the first and the last token of the answer, where a task looks for it in several rows of one text; else
            None.
    """

    texts: tuple[str, ...]
    tokens: tuple[str, ...]
    segments: Array
    offsets: Array
    words: Array
    dropped: tuple[int, ...]
    answer: tuple[int, int] | None = None

    @classmethod
    def of(
        cls,
        tokenizer: BaseTokenizer,
        texts: Sequence[str],
        *,
        max_length: int,
        parts: Sequence[slice] | None = None,
        answer: tuple[int, int] | None = None,
    ) -> Self:
        """The row that `tokenizer.encode` makes of a text or pair.

        `parts` are the tokens of each text in the row; None for as many of the first ones as `encode` takes.
        """
        if len(texts) not in (1, 2):
            raise ValueError(f"Tokens.texts must be one text or a pair, got {len(texts)} texts")
        tokenizer.check_room(len(texts), max_length)
        encoded = [[part.to_list()[0] for part in tokenizer.tokenize_with_offsets([text])] for text in texts]
        lengths = [np.array(len(ids)) for ids, _, _ in encoded]
        if parts is None:
            room = max_length - tokenizer.special_count(len(texts))
            parts = [slice(0, int(count)) for count in count_kept_tokens(lengths, room, np)]
        kept = [part.stop - part.start for part in parts]
        # A text may hold the names of special tokens, as plain text.
        ids, segments, offsets, text_flags = [tokenizer.cls_id], [0], [(0, 0)], [False]
        for number, ((text_ids, starts, ends), part) in enumerate(zip(encoded, parts, strict=True)):
            separators = tokenizer.between if number + 1 < len(texts) else 1
            ids += text_ids[part] + [tokenizer.sep_id] * separators
            offsets += [*zip(starts[part], ends[part], strict=True), *[(0, 0)] * separators]
            segments += [number] * (kept[number] + separators)
            text_flags += [True] * kept[number] + [False] * separators
        is_text = np.array(text_flags)
        begins = is_text & ~tokenizer.word_marks()[np.array(ids)]
        # A text that begins in the middle of a word begins a word all the same.
        begins |= is_text & ~np.roll(is_text, 1)
        return cls(
            tuple(texts),
            tuple(tokenizer.vocabulary[number] for number in ids),
            np.array(segments, "int32"),
            np.array(offsets, "int32"),
            np.where(is_text, np.cumsum(begins) - 1, -1).astype("int32"),
            tuple(int(length) - count for length, count in zip(lengths, kept, strict=True)),
            answer,
        )

    def behind_prompt(self, length: int) -> Self:
        """The row with the `length` vectors of a prompt in front of it, see `keras_bert.options.adaptation.Prompt`."""
        if not length:
            return self
        return dataclasses.replace(
            self,
            tokens=(_LEARNED_VECTOR,) * length + self.tokens,
            segments=np.pad(self.segments, (length, 0)),
            offsets=np.pad(self.offsets, ((length, 0), (0, 0))),
            words=np.pad(self.words, (length, 0), constant_values=-1),
            answer=None if self.answer is None else (self.answer[0] + length, self.answer[1] + length),
        )

    @property
    def cls_index(self) -> int:
        """The position of `[CLS]`, behind the vectors of a prompt."""
        return next(place for place, token in enumerate(self.tokens) if token != _LEARNED_VECTOR)

    @property
    def word_offsets(self) -> Array:
        """The place of each word: its start and end in its text, and the number of the text: int32 (words, 3)."""
        places = np.flatnonzero(self.words >= 0)
        numbers = self.words[places]
        firsts = places[np.unique(numbers, return_index=True)[1]]
        lasts = places[len(places) - 1 - np.unique(numbers[::-1], return_index=True)[1]]
        return np.stack([self.offsets[firsts, 0], self.offsets[lasts, 1], self.segments[firsts]], axis=1)

    @property
    def word_texts(self) -> tuple[str, ...]:
        """The words as they stand in the texts, in the order of their numbers."""
        return tuple(self.texts[text][start:end] for start, end, text in self.word_offsets.tolist())

    def characters_read(self, text: int) -> tuple[int, int]:
        """The start and end of the part of a text that stands in the row; 0 and 0 if nothing of it does."""
        if not self.dropped[text]:
            return 0, len(self.texts[text])
        places = self.offsets[(self.segments == text) & (self.words >= 0)]
        return (int(places[0, 0]), int(places[-1, 1])) if len(places) else (0, 0)

    def common_words(self, other: Self) -> tuple[Array, Array]:
        """The words of this row and of another one that start at the same place of the same text.

        Two models may keep or split words differently; texts are those of both rows. The results are their numbers in
        this row and in the other one, in the order of this row: two arrays (common words,).
        """
        numbers = {(text, start): number for number, (start, _, text) in enumerate(other.word_offsets.tolist())}
        keys = [(text, start) for start, _, text in self.word_offsets.tolist()]
        pairs = [(number, numbers[key]) for number, key in enumerate(keys) if key in numbers]
        return tuple(np.array(pairs, int).reshape(-1, 2).T)  # type: ignore[return-value]
