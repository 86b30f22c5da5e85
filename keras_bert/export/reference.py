"""Predicts with a model as a file with fixed lengths does: with the same padding."""

from collections.abc import Sequence

import keras
import numpy as np

from keras_bert.core.row_limits import rows_at_once
from keras_bert.export.runtimes import Array, count_tokens
from keras_bert.models.encoder import config_of, input_names


def predict_as_padded(network: keras.Model, features: dict[str, Array], lengths: Sequence[int]) -> Array:
    """Outputs (rows, ...) of a network with one output; if these depend on padding, rows are padded as in the file.

    Each row is padded to the shortest of the file's ascending lengths that it fits into. Outputs per token are as wide
    as the inputs, and 0 beyond the row's length in the file.
    """
    inputs = {name: features[name] for name in input_names(network)}
    variant = config_of(network).variant
    if variant is None or not variant.depends_on_padding:
        return _predict(network, inputs)
    mask = features["padding_mask"]
    places = np.searchsorted(np.array(lengths), [count_tokens(row) for row in mask])
    answers: Array | None = None
    for place in np.unique(places):
        rows, length = np.flatnonzero(places == place), lengths[place]
        padded = {name: _as_wide(value[rows], length) for name, value in inputs.items()}
        outputs = _predict(network, padded)
        if outputs.ndim == 3:
            outputs = _as_wide(outputs, mask.shape[1])
        if answers is None:
            answers = np.zeros((len(mask), *outputs.shape[1:]), outputs.dtype)
        answers[rows] = outputs
    assert answers is not None
    return answers


def _predict(network: keras.Model, inputs: dict[str, Array]) -> Array:
    rows = rows_at_once(32, inputs["padding_mask"].shape[1])
    return np.asarray(network.predict(inputs, batch_size=rows, verbose=0))


def _as_wide(value: Array, width: int) -> Array:
    """Cuts values (rows, length, ...) to (rows, width, ...), or fills them with 0."""
    cut = value[:, :width]
    return np.pad(cut, [(0, 0), (0, width - cut.shape[1]), *((0, 0) for _ in value.shape[2:])])
