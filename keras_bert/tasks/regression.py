"""Regression on a text or a pair of texts: one number, as the similarity of STS-B (Devlin et al. 2019, section 4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.target_scale import TargetScale
from keras_bert.options.data import Pooling
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import Array, Features, Link, Runtime, Task
from keras_bert.tasks.checks import as_columns, as_numbers, is_keras_model
from keras_bert.tasks.classification import default_pooling, pool, pooling_of
from keras_bert.tasks.targets import RowWords, Target

if TYPE_CHECKING:
    import keras

    from keras_bert.layers.regression_head import RegressionHead
    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer

_HEAD = "regressor"
# Rows whose answers say in which unit a head answers.
_STARTING_ROWS = 256


def build_regressor(encoder: keras.Model, *, pooling: Pooling | None = None, dropout: float = 0.1) -> keras.Model:
    """Puts one linear output on one vector for the whole text; see `build_classifier` for the arguments.

    Returns:
        A model from the encoder's inputs to numbers (batch, 1).

    Raises:
        ValueError: there is no such pooling, or the encoder has no pooler.

    Examples:
        >>> build_regressor(task.encoder).output.shape
        (None, 1)
    """
    import keras

    from keras_bert.layers.dropout import Dropout
    from keras_bert.layers.regression_head import RegressionHead
    from keras_bert.models.global_tokens import with_global_tokens

    pooling = pooling or default_pooling(encoder)
    encoder = with_global_tokens(encoder, "first")
    pooled = Dropout(dropout, name="regressor_dropout")(pool(encoder, pooling))
    return keras.Model(encoder.input, RegressionHead(1, name=_HEAD)(pooled), name="regression")


class Regression(Task):
    """One number for each text, or for each pair of texts.

    Args:
        model: a model as `build_regressor` returns it, or an exported file; for tokenizer and max_length see `Task`.

    Raises:
        ValueError: the model gives no numbers, or has no `RegressionHead`; see also `Task`.

    Examples:
        >>> prices = Regression.build(task.encoder, task.tokenizer, max_length=16)
        >>> inputs, numbers = prices.examples(["film", "film film"], [3400.0, 7000.0])
        >>> prices.scale
        TargetScale(mean=5200.0, standard_deviation=1800.0)
    """

    name = "regression"
    label_name = "value"
    needs_pooling = True
    learns_from_texts = True
    link: ClassVar[Link | None] = "identity"
    # A grid for numbers around 5,000 would span the way from 0, too.
    float_layers = (_HEAD,)

    def __init__(self, model: keras.Model | Runtime, tokenizer: BaseTokenizer, *, max_length: int = 128) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        shape: tuple[Any, ...] = getattr(model.output, "shape", ())
        check(type(self).__name__, "model", tuple(shape[1:]) == (1,), "give numbers (batch, 1)", model.name)
        if is_keras_model(model):
            from keras_bert.layers.regression_head import RegressionHead
            from keras_bert.models.encoder import has_layer

            scaled = has_layer(model, _HEAD) and isinstance(model.get_layer(_HEAD), RegressionHead)
            rule = f"have the layer {_HEAD!r} of `build_regressor`, a RegressionHead; train it again"
            check(type(self).__name__, "model", scaled, rule, model.name)

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 128,
        pooling: Pooling | None = None,
        dropout: float = 0.1,
        mean: float = 0.0,
        standard_deviation: float = 1.0,
        **settings: Any,
    ) -> Self:
        """A new regressor on an encoder, see `build_regressor`; `settings` are those of the constructor.

        `mean` and `standard_deviation` are those of the targets, in their unit. If both are left out, the first call of
        `examples` sets them to those of its numbers.

        Raises:
            ValueError: the mean is not finite, or the standard deviation not above 0; see also `build_regressor`.
        """
        check(cls.__name__, "mean", math.isfinite(mean), "be a finite number", mean)
        check(cls.__name__, "standard_deviation", standard_deviation > 0, "be above 0", standard_deviation)
        model = build_regressor(encoder, pooling=pooling, dropout=dropout)
        task = cls(model, tokenizer, max_length=max_length, **settings)
        task._head.scale = TargetScale(mean, standard_deviation)
        return task._with_drawn_weights(encoder)

    @property
    def _head(self) -> RegressionHead:
        return self.model.get_layer(_HEAD)

    @property
    def scale(self) -> TargetScale:
        """Mean and standard deviation of the numbers that the head learns, in their unit."""
        return self._head.scale

    def head(self) -> dict[str, Any]:
        return {"pooling": pooling_of(self.model), **self.scale._asdict()}

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """One less the difference of the numbers (rows, 1), as a share of what the reference's span."""
        return np.clip(1 - np.abs(reference - candidate)[:, 0] / max(float(np.ptp(reference)), 1e-6), 0, 1)

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from keras_bert.objectives.tasks import RegressionObjective

        self._refuse_class_weights(class_weights)
        scale = self.scale if is_keras_model(self.model) else TargetScale()
        return RegressionObjective(scale.standard_deviation)

    def loss(self) -> keras.losses.Loss:
        """The mean squared error in units of the scale's standard deviation."""
        from keras_bert.core.losses import StandardizedSquaredError

        return StandardizedSquaredError(self.scale.standard_deviation)

    def metrics(self) -> list[keras.metrics.Metric]:
        """The mean absolute error, in the unit of the numbers; for all rows at once see `keras_bert.metrics`."""
        import keras

        return [keras.metrics.MeanAbsoluteError(name="absolute_error")]

    def examples(
        self, texts: Sequence[str], values: Sequence[float], pairs: Sequence[str] | None = None
    ) -> tuple[Features, Array]:
        """What `model.fit` takes: the inputs (rows, length) and the numbers (rows, 1) float32, in their unit.

        The first numbers for a head that was neither trained nor given a scale set its scale: call it with the training
        rows first, and before `compile`. Later numbers change nothing.

        Raises:
            TypeError: a value is not a number.
            ValueError: a value is not finite.
        """
        inputs, numbers = self._read(texts, values, pairs)
        self.start_scale(numbers)
        return inputs, numbers

    def _read(
        self, texts: Sequence[str], values: Sequence[float], pairs: Sequence[str] | None = None
    ) -> tuple[Features, Array]:
        texts, values = as_columns(texts=texts, values=values)
        return self.encode(texts, pairs), as_numbers("values", values)

    def start_scale(self, labels: Array, rows: Mapping[str, Array] | None = None) -> None:
        if not is_keras_model(self.model):
            return
        scale, head = TargetScale.of(labels.ravel().tolist()), self._head
        if head.is_untrained:
            head.scale = scale
        elif rows is not None and head.scale == TargetScale():
            first = {name: array[:_STARTING_ROWS] for name, array in rows.items()}
            answers = np.stack(self.forward(first))[:, 0]
            is_near = np.mean((answers - labels[:_STARTING_ROWS]) ** 2) < scale.standard_deviation**2
            # Answers that hardly differ are not spread over the whole scale.
            other = TargetScale(float(answers.mean()), max(float(answers.std()), 1.0))
            head.standardize(scale if is_near else other, scale)

    def training_rows(self, *data: Any, **pairs: Any) -> dict[str, Array]:
        """See `Task.training_rows`; `value` is (rows,)."""
        features, numbers = self._read(*data, **pairs)
        return {**features, "value": numbers[:, 0]}

    def predict(self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, batch_size: int = 32) -> list[float]:
        return [float(output[0]) for output in self.outputs(texts, pairs, batch_size=batch_size)]

    def target(self, choice: None, outputs: Any, row: RowWords) -> Target:
        """The number itself; there is nothing to choose."""
        check(type(self).__name__, "target", choice is None, "be left out, as there is one number", choice)
        return Target("number", None, lambda numbers: numbers[:, 0])

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        return {"number": float}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[float]]:
        return zip(self.predict(texts, seconds))

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [(f"{values[0]:.4f}", *texts)]
