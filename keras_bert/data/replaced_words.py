"""Rows with some of their words replaced by like ones."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from keras_bert.masking.row_random import RowRandom, row_keys
from keras_bert.tokenizers.base import BaseTokenizer

Array = np.ndarray[Any, Any]
# Inputs (rows, length) with tokens hidden, and the places (rows, places) of those, -1 for none -> logits over the
# vocabulary (rows, places, vocabulary).
Guess = Callable[[Mapping[str, Array], Array], Array]

# Pieces whose neighbours are found at once.
_AT_ONCE = 512


class WordReplacer:
    """Replaces words of one piece by others of one piece, so that all else of a row stays where it is.

    Args:
        tokenizer: of the rows.
        table: vectors of all pieces (vocabulary, width), whose neighbours by cosine take a word's place.
        replaced: the share of the words that are replaced.
        candidates: how many there are for a word; each is as likely.
        seed: of the choice.
        guess: tells in the place of the table what could stand in a place, of the words around it.
    """

    def __init__(
        self,
        tokenizer: BaseTokenizer,
        table: Array,
        *,
        replaced: float,
        candidates: int,
        seed: int,
        guess: Guess | None = None,
    ) -> None:
        self._marks, self._special = tokenizer.word_marks(), np.array(tokenizer.special_ids)
        self._mask_id, self._guess = tokenizer.mask_id, guess
        self._replaced, self._candidates, self._seed = replaced, candidates, seed
        letters = np.array([any(map(str.isalpha, piece)) for piece in tokenizer.vocabulary])
        # Neither signs nor parts of words.
        self._words = np.flatnonzero(~self._marks & letters & ~np.isin(np.arange(len(letters)), self._special))
        norms = np.linalg.norm(table, axis=1, keepdims=True)
        self._unit = (table / np.maximum(norms, 1e-9)).astype("float32")
        self._near: dict[int, Array] = {}

    def __call__(self, inputs: Mapping[str, Array], rows: Array, copy: int, prefix: str = "") -> Array:
        """Token ids (rows, length) with other words.

        Args:
            inputs: token_ids and padding_mask (rows, length).
            rows: their numbers, on which with the copy's the choice depends.
            copy: the number of the copy, from 1.
            prefix: before the names of the inputs.
        """
        ids, mask = (np.asarray(inputs[f"{prefix}{name}"]) for name in ("token_ids", "padding_mask"))
        random = RowRandom(row_keys(self._seed, copy, rows))
        wanted = random.uniform(ids.shape[1]) < self._replaced
        chosen = np.argwhere(wanted & self._whole_words(ids) & (mask == 1))
        pick = random.uniform(ids.shape[1])[chosen[:, 0], chosen[:, 1]]
        found = self._by_table(ids, chosen) if self._guess is None else self._by_guess(inputs, ids, chosen, prefix)
        other = ids.copy()
        if len(chosen):
            taken = found[np.arange(len(chosen)), (pick * found.shape[1]).astype(int)]
            other[chosen[:, 0], chosen[:, 1]] = taken
        return other

    def _whole_words(self, ids: Array) -> Array:
        """Where a word of one piece stands."""
        goes_on = np.zeros(ids.shape, bool)
        goes_on[:, :-1] = self._marks[ids[:, 1:]]
        return np.isin(ids, self._words) & ~goes_on

    def _by_table(self, ids: Array, chosen: Array) -> Array:
        """(chosen, candidates), the nearest words of each that is to be replaced, without itself."""
        pieces = ids[chosen[:, 0], chosen[:, 1]]
        new = np.array([piece for piece in np.unique(pieces) if int(piece) not in self._near], int)
        count = min(self._candidates, len(self._words) - 1)
        for start in range(0, len(new), _AT_ONCE):
            part = new[start : start + _AT_ONCE]
            likeness = self._unit[part] @ self._unit[self._words].T
            likeness[part[:, None] == self._words[None]] = -np.inf
            best = np.argpartition(-likeness, count - 1, axis=1)[:, :count]
            self._near |= {int(piece): self._words[np.sort(places)] for piece, places in zip(part, best, strict=True)}
        return np.array([self._near[int(piece)] for piece in pieces]).reshape(len(pieces), count)

    def _by_guess(self, inputs: Mapping[str, Array], ids: Array, chosen: Array, prefix: str) -> Array:
        """(chosen, candidates), the likeliest words where all that are to be replaced are hidden."""
        assert self._guess is not None
        hidden = ids.copy()
        hidden[chosen[:, 0], chosen[:, 1]] = self._mask_id
        counts = np.bincount(chosen[:, 0], minlength=len(ids))
        places = np.full((len(ids), max(1, counts.max(initial=0))), -1)
        order = np.arange(len(chosen)) - np.repeat(np.cumsum(counts) - counts, counts)
        places[chosen[:, 0], order] = chosen[:, 1]
        plain = {name: np.asarray(inputs[f"{prefix}{name}"]) for name in ("segment_ids", "padding_mask")}
        logits = self._guess({**plain, "token_ids": hidden}, places)[chosen[:, 0], order][:, self._words]
        own = ids[chosen[:, 0], chosen[:, 1]]
        logits[own[:, None] == self._words[None]] = -np.inf
        count = min(self._candidates, len(self._words) - 1)
        best = np.argpartition(-logits, count - 1, axis=1)[:, :count] if len(chosen) else np.zeros((0, count), int)
        return self._words[np.sort(best, axis=1)]
