"""Data augmentation: replaces words of rows by similar words (Jiao et al. 2020, section 4.2)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from keras_bert.masking.row_random import RowRandom, row_keys
from keras_bert.tokenizers.base import BaseTokenizer

Array = np.ndarray[Any, Any]
# Inputs (rows, length) with masked tokens, and the positions (rows, masks) of the masks, -1 for padding -> logits over
# the vocabulary (rows, masks, vocabulary).
MaskedTokenModel = Callable[[Mapping[str, Array], Array], Array]

# Number of tokens whose nearest neighbours are computed at once.
_NEIGHBOUR_BATCH = 512


class WordReplacer:
    """Replaces words of a single token by other words of a single token, so that positions and lengths stay the same.

    A word is replaced by one of `candidates` words, all equally likely: its nearest neighbours in a table of token
    embeddings (vocabulary, width) by cosine similarity, or what a masked language model, `guess`, proposes from the
    context.
    """

    def __init__(
        self,
        tokenizer: BaseTokenizer,
        table: Array,
        *,
        replaced: float,
        candidates: int,
        seed: int,
        guess: MaskedTokenModel | None = None,
    ) -> None:
        self._marks, self._special = tokenizer.word_marks(), np.array(tokenizer.special_ids)
        self._mask_id, self._guess = tokenizer.mask_id, guess
        self._replaced, self._candidates, self._seed = replaced, candidates, seed
        letters = np.array([any(map(str.isalpha, token)) for token in tokenizer.vocabulary])
        # Whole words: neither punctuation nor parts of words.
        self._words = np.flatnonzero(~self._marks & letters & ~np.isin(np.arange(len(letters)), self._special))
        self._unit = (table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)).astype("float32")
        self._near: dict[int, Array] = {}

    def __call__(self, inputs: Mapping[str, Array], rows: Array, copy: int, prefix: str = "") -> Array:
        """Token ids (rows, length) with replaced words, from token_ids and padding_mask with the given prefix.

        The numbers of the rows (rows,) and of the copy, from 1, seed the choice.
        """
        ids, mask = (np.asarray(inputs[f"{prefix}{name}"]) for name in ("token_ids", "padding_mask"))
        random = RowRandom(row_keys(self._seed, copy, rows))
        selected = random.uniform(ids.shape[1]) < self._replaced
        continued = np.zeros(ids.shape, bool)
        continued[:, :-1] = self._marks[ids[:, 1:]]
        chosen = np.argwhere(selected & np.isin(ids, self._words) & ~continued & (mask == 1))
        pick = random.uniform(ids.shape[1])[chosen[:, 0], chosen[:, 1]]
        candidates = (
            self._neighbours(ids, chosen) if self._guess is None else self._guesses(inputs, ids, chosen, prefix)
        )
        augmented = ids.copy()
        if len(chosen):
            replacements = candidates[np.arange(len(chosen)), (pick * candidates.shape[1]).astype(int)]
            augmented[chosen[:, 0], chosen[:, 1]] = replacements
        return augmented

    def _neighbours(self, ids: Array, chosen: Array) -> Array:
        """The nearest words (chosen, candidates) of the words to replace, without the words themselves."""
        tokens = ids[chosen[:, 0], chosen[:, 1]]
        new = np.array([token for token in np.unique(tokens) if int(token) not in self._near], int)
        count = min(self._candidates, len(self._words) - 1)
        for start in range(0, len(new), _NEIGHBOUR_BATCH):
            part = new[start : start + _NEIGHBOUR_BATCH]
            similarity = self._unit[part] @ self._unit[self._words].T
            similarity[part[:, None] == self._words[None]] = -np.inf
            best = np.argpartition(-similarity, count - 1, axis=1)[:, :count]
            self._near |= {int(token): self._words[np.sort(places)] for token, places in zip(part, best, strict=True)}
        return np.array([self._near[int(token)] for token in tokens]).reshape(len(tokens), count)

    def _guesses(self, inputs: Mapping[str, Array], ids: Array, chosen: Array, prefix: str) -> Array:
        """The most likely words (chosen, candidates) where all words to replace are masked."""
        assert self._guess is not None
        masked = ids.copy()
        masked[chosen[:, 0], chosen[:, 1]] = self._mask_id
        counts = np.bincount(chosen[:, 0], minlength=len(ids))
        places = np.full((len(ids), max(1, counts.max(initial=0))), -1)
        order = np.arange(len(chosen)) - np.repeat(np.cumsum(counts) - counts, counts)
        places[chosen[:, 0], order] = chosen[:, 1]
        plain = {name: np.asarray(inputs[f"{prefix}{name}"]) for name in ("segment_ids", "padding_mask")}
        logits = self._guess({**plain, "token_ids": masked}, places)[chosen[:, 0], order][:, self._words]
        originals = ids[chosen[:, 0], chosen[:, 1]]
        logits[originals[:, None] == self._words[None]] = -np.inf
        count = min(self._candidates, len(self._words) - 1)
        best = np.argpartition(-logits, count - 1, axis=1)[:, :count] if len(chosen) else np.zeros((0, count), int)
        return self._words[np.sort(best, axis=1)]
