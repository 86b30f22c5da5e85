"""Masks tokens of a batch (Devlin et al. 2019, section 3.1 and appendix A.1)."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from keras_bert.masking.row_random import Keys, RowRandom
from keras_bert.masking.strategies import choose_spans, choose_tokens, choose_words
from keras_bert.options.pretraining import Masking


class Masked(NamedTuple):
    """A masked batch: the inputs and the labels of masked language modelling.

    Attributes:
        token_ids: (batch, length) int32, after masking.
        mask_positions: (batch, predictions) int32, ascending, padded with 0.
        mask_ids: (batch, predictions) int32, the original tokens at these positions, padded with 0.
        mask_weights: (batch, predictions) float32, 1 for a prediction, 0 for padding.
    """

    token_ids: NDArray[np.int32]
    mask_positions: NDArray[np.int32]
    mask_ids: NDArray[np.int32]
    mask_weights: NDArray[np.float32]


class MaskingVocabulary(NamedTuple):
    """The properties of a vocabulary that masking needs.

    Attributes:
        is_special: (vocabulary,) bool, whether a token is special.
        continues: (vocabulary,) bool, whether a token continues a word.
        replacement_ids: (n,) int32, the tokens that may replace a masked token: all except special tokens.
    """

    mask_id: int
    is_special: NDArray[np.bool_]
    continues: NDArray[np.bool_]
    replacement_ids: NDArray[np.int32]


class MaskingTokenizer(Protocol):
    """The part of a tokenizer that masking needs; see `BaseTokenizer`."""

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens in the vocabulary."""

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Ids of all special tokens."""

    @property
    def mask_id(self) -> int:
        """Id of `[MASK]`."""

    def word_marks(self) -> NDArray[np.bool_]:
        """(vocabulary,) whether a token continues a word."""


def masking_vocabulary(tokenizer: MaskingTokenizer) -> MaskingVocabulary:
    """Finds the properties of a tokenizer's vocabulary that masking needs."""
    is_special = np.zeros(tokenizer.vocabulary_size, bool)
    is_special[list(tokenizer.special_ids)] = True
    replacements = np.flatnonzero(~is_special).astype(np.int32)
    return MaskingVocabulary(tokenizer.mask_id, is_special, tokenizer.word_marks(), replacements)


def mask_rows(
    token_ids: NDArray[np.int32],
    candidates: NDArray[np.bool_],
    *,
    masking: Masking,
    mask_id: int,
    replacement_ids: NDArray[np.int32],
    keys: Keys,
    continues: NDArray[np.bool_] | None = None,
) -> Masked:
    """Masks tokens of every row of a batch; the random choices depend only on the row's key, not on other rows.

    A row gets `rate` x its candidates as predictions, at least one and at most `max_predictions`. Rounding is
    stochastic, so that the mean over many rows is `rate`; rounding to the nearest number would turn 15 % of the 125
    candidates of a row of 128 tokens into 19, which is 15.2 %. Of the chosen tokens, the fraction `mask_share` is
    replaced by `mask_id`, `random_share` by random tokens of `replacement_ids`, and the rest are left unchanged. The
    strategy `spans` draws this once per span, the others once per token.

    `token_ids`, `candidates` (tokens that may be masked: neither padding nor special) and `continues` (tokens that
    continue the word before them; not needed for the strategy `tokens`) are (batch, length); `keys` are the seeds of
    the rows (batch,), see `row_keys`.
    """
    random = RowRandom(keys)
    available = candidates.sum(axis=1)
    targets = np.floor(available * masking.rate + random.uniform(1)[:, 0]).astype(np.int64)
    budget = np.minimum(np.clip(targets, 1, masking.max_predictions), available)
    # Drawn before tokens are chosen, because the number of draws for the choice depends on the other rows of the batch.
    fates, replacements = random.uniform(masking.max_predictions), random.uniform(masking.max_predictions)
    spans = None
    if masking.strategy == "tokens":
        chosen = choose_tokens(candidates, budget, random)
    elif continues is None:
        raise ValueError(f"mask_rows continues must be given for strategy={masking.strategy!r}, got None")
    elif masking.strategy == "whole_words":
        chosen = choose_words(candidates, continues, budget, random)
    else:
        spans = choose_spans(candidates, continues, budget, random)
        chosen = spans > 0
    rows, columns = np.nonzero(chosen)
    counts = np.bincount(rows, minlength=len(token_ids))
    slots = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    originals = token_ids[rows, columns]
    fate = fates[rows, slots if spans is None else spans[rows, columns] - 1]
    drawn = replacement_ids[(replacements[rows, slots] * len(replacement_ids)).astype(np.int64)]
    hidden = np.where(fate < masking.mask_share + masking.random_share, drawn, originals)
    masked = token_ids.copy()
    masked[rows, columns] = np.where(fate < masking.mask_share, mask_id, hidden)
    filled = []
    for values in (columns, originals, 1):
        table = np.zeros((len(token_ids), masking.max_predictions), np.int32)
        table[rows, slots] = values
        filled.append(table)
    return Masked(masked, filled[0], filled[1], filled[2].astype(np.float32))
