"""Which tokens to hide and what to put in their place (Devlin et al. 2019, section 3.1 and appendix A.1)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_bert.config import Masking


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


def mask_tokens(
    token_ids: NDArray[np.int32],
    candidates: NDArray[np.bool_],
    *,
    masking: Masking,
    mask_id: int,
    replacement_ids: NDArray[np.int32],
    rng: np.random.Generator,
) -> Masked:
    """Hides tokens of every row of a batch.

    Of each row `rate` of its candidates are chosen: at least one, at most `max_predictions`. Of those
    `mask_share` become `mask_id`, `random_share` a piece drawn from `replacement_ids`, the rest stay.

    Args:
        token_ids: (batch, length).
        candidates: (batch, length), True where a token may be hidden: neither padding nor special.
        masking: rate and shares.
        mask_id: the id of `[MASK]`.
        replacement_ids: (n,), what a random replacement may be: all pieces but the special ones.
        rng: makes every choice; seed it from the key of the data.
    """
    batch, length = token_ids.shape
    width = min(masking.max_predictions, length)
    available = candidates.sum(axis=1)
    wanted = np.clip(np.rint(available * masking.rate).astype(np.int64), 1, width)
    chosen_count = np.minimum(wanted, available)
    scores = np.where(candidates, rng.random((batch, length)), 2.0)
    order = np.argsort(scores, axis=1, kind="stable")[:, :width]
    inside = np.arange(width) < chosen_count[:, None]
    # Unused places sort behind every real position and are set to 0 afterwards.
    positions = np.sort(np.where(inside, order, length), axis=1)
    positions = np.where(inside, positions, 0)
    originals = np.where(inside, np.take_along_axis(token_ids, positions, axis=1), 0)
    draw = rng.random((batch, width))
    random_ids = rng.choice(replacement_ids, size=(batch, width))
    hidden = np.where(draw < masking.mask_share, mask_id, originals)
    is_random = (draw >= masking.mask_share) & (draw < masking.mask_share + masking.random_share)
    hidden = np.where(is_random, random_ids, hidden)
    masked = token_ids.copy()
    rows = np.broadcast_to(np.arange(batch)[:, None], inside.shape)
    masked[rows[inside], positions[inside]] = hidden[inside]
    filling = ((0, 0), (0, masking.max_predictions - width))
    return Masked(
        masked,
        np.pad(positions, filling).astype(np.int32),
        np.pad(originals, filling).astype(np.int32),
        np.pad(inside, filling).astype(np.float32),
    )
