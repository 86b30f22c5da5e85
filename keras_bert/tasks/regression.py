"""Regression on a text or a pair of texts: one number, as the similarity of STS-B (Devlin et al. 2019, section 4.1)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import keras
import numpy as np

from keras_bert.checks import check
from keras_bert.layers.dense import Dense
from keras_bert.models.global_tokens import with_global_tokens
from keras_bert.objectives.base import TaskObjective
from keras_bert.objectives.regression import RegressionObjective
from keras_bert.options.pooling import Pooling
from keras_bert.tasks.base import Array, Features, Runtime, Task
from keras_bert.tasks.checks import as_numbers, check_same_length
from keras_bert.tasks.classification import pool, pooling_of

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer


def build_regressor(encoder: keras.Model, *, pooling: Pooling = "cls", dropout: float = 0.1) -> keras.Model:
    """Puts one linear output on one vector for the whole text.

    Args:
        encoder: what `build_encoder` returns; its weights are shared, not copied.
        pooling: see `build_classifier`.
        dropout: rate on the pooled output.

    Returns:
        A model from the encoder's inputs to numbers (batch, 1).

    Raises:
        ValueError: there is no such pooling, or the encoder has no pooler.
    """
    encoder = with_global_tokens(encoder, "first")
    pooled = keras.layers.Dropout(dropout, name="regressor_dropout")(pool(encoder, pooling))
    return keras.Model(encoder.input, Dense(1, name="regressor")(pooled), name="regression")


class Regression(Task):
    """One number for each text, or for each pair of texts.

    Args:
        model: what `build_regressor` returns.
        tokenizer: with the model's vocabulary.
        max_length: the most tokens of a text or pair.
    """

    name = "regression"
    pools = True

    def __init__(self, model: keras.Model | Runtime, tokenizer: "BaseTokenizer", *, max_length: int = 128) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        shape: tuple[Any, ...] = getattr(model.output, "shape", ())
        check(type(self).__name__, "model", tuple(shape[1:]) == (1,), "give numbers (batch, 1)", model.name)

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: "BaseTokenizer",
        *,
        max_length: int = 128,
        pooling: Pooling = "cls",
        dropout: float = 0.1,
    ) -> Self:
        """A new regressor on an encoder, see `build_regressor`."""
        return cls(build_regressor(encoder, pooling=pooling, dropout=dropout), tokenizer, max_length=max_length)

    def head(self) -> dict[str, Any]:
        """How the text becomes one vector."""
        return {"pooling": pooling_of(self.model)}

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """One less the difference of the numbers (rows, 1), as a share of what the reference's span."""
        span = max(float(np.ptp(reference)), 1e-6)
        return np.clip(1 - np.abs(reference - candidate)[:, 0] / span, 0, 1)

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        """See `Task.objective`."""
        self._refuse_class_weights(class_weights)
        return RegressionObjective()

    def loss(self) -> keras.losses.Loss:
        """The mean squared error."""
        return keras.losses.MeanSquaredError()

    def metrics(self) -> list[keras.metrics.Metric]:
        """The mean absolute error; for correlations over all rows see `keras_bert.metrics.correlation`."""
        return [keras.metrics.MeanAbsoluteError(name="absolute_error")]

    def examples(
        self, texts: Sequence[str], values: Sequence[float], pairs: Sequence[str] | None = None
    ) -> tuple[Features, Array]:
        """What `model.fit` takes: the inputs (rows, length) and the numbers (rows, 1) float32.

        Raises:
            TypeError: a text is no string, or a value no number.
            ValueError: a value is not finite, or there are not as many values or pairs as texts.
        """
        check_same_length("texts", texts, "values", values)
        return self.encode(texts, pairs), as_numbers("values", values)

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, batch_size: int = 32) -> list[float]:
        """The number of each text, or of each pair."""
        return [float(output[0]) for output in self.outputs(texts, pairs, batch_size=batch_size)]
