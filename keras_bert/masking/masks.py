"""Which tokens to hide and what to put in their place (Devlin et al. 2019, section 3.1 and appendix A.1)."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from keras_bert.masking.row_random import Keys, RowRandom
from keras_bert.masking.strategies import choose_spans, choose_tokens, choose_words
from keras_bert.options.masking import Masking


class Masked(NamedTuple):
    """A batch with hidden tokens.

    Attributes:
        token_ids: (batch, length), with the replacements in place.
        mask_positions: (batch, predictions), ascending, 0 where a row has fewer predictions.
        mask_ids: (batch, predictions), what stood at those positions.
        mask_weights: (batch, predictions) float32, 1 for a prediction, 0 for filling.
    """

    token_ids: NDArray[np.int32]
    mask_positions: NDArray[np.int32]
    mask_ids: NDArray[np.int32]
    mask_weights: NDArray[np.float32]


class Pieces(NamedTuple):
    """What masking knows of a vocabulary.

    Attributes:
        mask_id: the id of `[MASK]`.
        is_special: (vocabulary,), which pieces are special tokens.
        continues: (vocabulary,), which pieces continue a word.
        replacement_ids: (n,), what a random replacement may be: all pieces but the special ones.
    """

    mask_id: int
    is_special: NDArray[np.bool_]
    continues: NDArray[np.bool_]
    replacement_ids: NDArray[np.int32]


class Pieced(Protocol):
    """What masking asks of a tokenizer; see `BaseTokenizer`."""

    @property
    def vocabulary_size(self) -> int:
        """The number of pieces."""

    @property
    def special_ids(self) -> tuple[int, ...]:
        """The ids of all special tokens."""

    @property
    def mask_id(self) -> int:
        """The id of what hides a token."""

    def word_marks(self) -> NDArray[np.bool_]:
        """(vocabulary,), which pieces continue a word."""


def describe_pieces(tokenizer: Pieced) -> Pieces:
    """Looks through the vocabulary of a tokenizer."""
    is_special = np.zeros(tokenizer.vocabulary_size, bool)
    is_special[list(tokenizer.special_ids)] = True
    replacements = np.flatnonzero(~is_special).astype(np.int32)
    return Pieces(tokenizer.mask_id, is_special, tokenizer.word_marks(), replacements)


def mask_tokens(
    token_ids: NDArray[np.int32],
    candidates: NDArray[np.bool_],
    *,
    masking: Masking,
    mask_id: int,
    replacement_ids: NDArray[np.int32],
    rng: np.random.Generator,
    continues: NDArray[np.bool_] | None = None,
) -> Masked:
    """Hides tokens of every row of a batch.

    See `mask_rows`, which takes a key a row where this one takes a generator for the batch.
    """
    keys = rng.integers(0, 2**64, size=len(token_ids), dtype=np.uint64)
    return mask_rows(
        token_ids,
        candidates,
        masking=masking,
        mask_id=mask_id,
        replacement_ids=replacement_ids,
        keys=keys,
        continues=continues,
    )


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
    """Hides tokens of every row of a batch, each row by its own key, whatever the rows beside it.

    Of each row `rate` of its candidates are chosen, at least one and at most `max_predictions`. What is not a whole
    number is rounded up as often as its fraction says, so that the share over many rows is `rate`; always to the
    nearest would make 15 % of the 125 free places of a row of 128 into 19 of them, 15.2 %. Of the chosen tokens
    `mask_share` become `mask_id`, `random_share` pieces drawn from `replacement_ids`, the rest stay; spans share one
    such fate, all else has one a token.

    Args:
        token_ids: (batch, length).
        candidates: (batch, length), True where a token may be hidden: neither padding nor special.
        masking: strategy, rate and shares.
        mask_id: the id of `[MASK]`.
        replacement_ids: (n,), what a random replacement may be: all pieces but the special ones.
        keys: (batch,), what makes all choices of a row, see `row_keys`.
        continues: (batch, length), True where a token continues the word before it; not needed for single tokens.

    Raises:
        ValueError: the strategy is about words, and `continues` is missing.
    """
    random = RowRandom(keys)
    budget = _budget(candidates.sum(axis=1), masking, random.uniform(1)[:, 0])
    # Drawn before the choice, which uses up as many numbers as the longest or slowest row of the batch needs.
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


def _budget(available: NDArray[np.int64], masking: Masking, draw: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many tokens to hide in rows with so many candidates, (batch,); `draw` is even over [0, 1)."""
    wanted = np.floor(available * masking.rate + draw).astype(np.int64)
    return np.minimum(np.clip(wanted, 1, masking.max_predictions), available)
