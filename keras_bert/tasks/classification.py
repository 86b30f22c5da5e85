"""Classification of a text or of a pair of texts (Devlin et al. 2019, section 4.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from keras_bert.core.checks import check
from keras_bert.metrics.calibration import probabilities
from keras_bert.options.data import Pooling
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import Array, Features, Link, Runtime, Task
from keras_bert.tasks.checks import as_columns, check_labels, label_number, label_numbers
from keras_bert.tasks.targets import RowWords, Target

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer


def build_classifier(
    encoder: keras.Model, num_labels: int, *, pooling: Pooling | None = None, dropout: float = 0.1
) -> keras.Model:
    """Adds a linear classifier on one vector of the text to an encoder.

    Args:
        encoder: an encoder as `build_encoder` returns it; its weights are shared, not copied.
        num_labels: the number of classes.
        pooling: `cls` takes the pooled output, as BERT does; `mean` takes the mean of the token states. Prefer `mean`
            after a short pre-training, because the first token has not yet learnt to attend to the others. None
            for `default_pooling`.
        dropout: the dropout rate on the pooled output.

    Returns:
        A model from the encoder's inputs to logits (batch, num_labels).

    Raises:
        ValueError: there is no label, there is no such pooling, or the encoder has no pooler.

    Examples:
        >>> build_classifier(task.encoder, num_labels=3).output.shape
        (None, 3)
    """
    import keras

    from keras_bert.layers.dense import Dense
    from keras_bert.layers.dropout import Dropout
    from keras_bert.models.global_tokens import with_global_tokens

    if num_labels < 1:
        raise ValueError(f"num_labels must be at least 1, got {num_labels}")
    pooling = pooling or default_pooling(encoder)
    encoder = with_global_tokens(encoder, "first")
    pooled = Dropout(dropout, name="classifier_dropout")(pool(encoder, pooling))
    return keras.Model(encoder.input, Dense(num_labels, name="classifier")(pooled), name="classification")


def default_pooling(encoder: keras.Model) -> Pooling:
    """Returns the pooling of the task that the encoder was taken from, else `cls`; `mean` if there is no pooler.

    If the encoder was taken from an embedding with another pooling, it is `mean` as well.
    """
    from keras_bert.models.encoder import pooling_of_origin, sequence_output

    sequence_output(encoder)
    origin_pooling = pooling_of_origin(encoder) or "cls"
    return "cls" if "pooled_output" in encoder.output and origin_pooling == "cls" else "mean"


def pool(encoder: keras.Model, pooling: Pooling) -> Any:
    """One vector for the whole text: (batch, hidden)."""
    from keras_bert.layers.heads import MeanPooler
    from keras_bert.layers.tap import TapLayer
    from keras_bert.models.encoder import config_of, has_prediction_head, head_inputs, pooled_output, sequence_output

    if pooling not in get_args(Pooling):
        raise ValueError(f"pooling must be one of {get_args(Pooling)}, got {pooling!r}")
    if pooling == "cls":
        return pooled_output(encoder)
    mean = MeanPooler(name="mean_pooler")(sequence_output(encoder), encoder.input["padding_mask"])
    if has_prediction_head(config_of(encoder)):
        mean = TapLayer(name="mean_tap")(mean)  # the tap of the pooler stays float, as does a classifier on it
    return head_inputs(encoder, mean)


def pooling_of(model: keras.Model) -> Pooling:
    """The pooling of a model that `build_classifier` or `build_regressor` built."""
    from keras_bert.models.encoder import has_layer

    return "mean" if has_layer(model, "mean_pooler") else "cls"


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The answer for one text: the most probable label, and its probability, 0 to 1.

    Examples:
        >>> Prediction("positive", 0.98).label
        'positive'
    """

    label: str
    probability: float


def decode(logits: Array, labels: Sequence[str], temperature: float = 1.0) -> Prediction:
    """Logits of one text (labels,) -> its most probable label, with its probability at a temperature."""
    best = int(logits.argmax())
    return Prediction(labels[best], float(probabilities(logits, temperature)[best]))


class TextClassifier(Task):
    """Base class of tasks with labels for whole texts: the model of `build_classifier`, and the labels.

    Args:
        model: a model as `build_classifier` returns it, or an exported file; for tokenizer and max_length see `Task`.
        labels: the names of the classes, in the order of the logits.

    Raises:
        TypeError: a label is not a string.
        ValueError: see `Task`; or the numbers of labels and outputs differ, or a label occurs twice.
    """

    needs_pooling = True
    learns_from_texts = True
    link: ClassVar[Link | None] = "softmax"

    def __init__(
        self, model: keras.Model | Runtime, tokenizer: BaseTokenizer, *, labels: Sequence[str], max_length: int = 128
    ) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        shape: tuple[Any, ...] = getattr(model.output, "shape", ())
        check(type(self).__name__, "model", len(shape) == 2, "give logits (batch, labels)", shape)
        self.labels = check_labels(type(self).__name__, labels, model.output.shape[-1])

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        labels: Sequence[str],
        max_length: int = 128,
        pooling: Pooling | None = None,
        dropout: float = 0.1,
        **settings: Any,
    ) -> Self:
        """Builds a classifier on an encoder, see `build_classifier`; `settings` are passed to the constructor."""
        check(cls.__name__, "labels", cls.independent_labels or len(labels) != 1, "be at least 2", labels)
        model = build_classifier(encoder, len(labels), pooling=pooling, dropout=dropout)
        task = cls(model, tokenizer, labels=labels, max_length=max_length, **settings)
        return task._with_drawn_weights(encoder)

    def head(self) -> dict[str, Any]:
        return {"pooling": pooling_of(self.model)}

    def target(self, choice: str | None, outputs: Any, row: RowWords) -> Target:
        """Returns the logit of a label as target, by default of the most probable label."""
        number = int(outputs.argmax()) if choice is None else label_number("target", choice, self.labels)
        return Target(self.labels[number], self.labels[number], lambda logits: logits[:, number])


class Classification(TextClassifier):
    """One label for each text, or for each pair of texts; for the arguments see `TextClassifier`.

    Examples:
        >>> sentiment = Classification.build(task.encoder, task.tokenizer, labels=["bad", "good"], max_length=16)
        >>> inputs, numbers = sentiment.examples(["film film", "film"], ["good", "bad"])
        >>> inputs["token_ids"].tolist(), numbers.tolist()
        ([[2, 5, 5, 3], [2, 5, 3, 0]], [1, 0])
        >>> [answer.label in sentiment.labels for answer in sentiment.predict(["film"])]
        [True]
    """

    name = "classification"
    selected_by = ("validation_accuracy",)

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from keras_bert.objectives.tasks import ClassificationObjective

        return ClassificationObjective(class_weights)

    def loss(self) -> keras.losses.Loss:
        """Mean cross-entropy, in nats."""
        import keras

        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def metrics(self) -> list[keras.metrics.Metric]:
        import keras

        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def examples(
        self, texts: Sequence[str], labels: Sequence[str], pairs: Sequence[str] | None = None
    ) -> tuple[Features, Array]:
        """Arguments of `model.fit`: the inputs (rows, length) and the numbers of the labels (rows,) int32.

        Raises:
            ValueError: a label is unknown.
        """
        texts, labels = as_columns(texts=texts, labels=labels)
        inputs, numbers = self.encode(texts, pairs), label_numbers(labels, self.labels)
        return inputs, numbers

    def predict(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, batch_size: int = 32
    ) -> list[Prediction]:
        """Returns the most probable label of each text or pair, with its probability after `calibration`."""
        temperature = self.calibration.temperature
        outputs = self.outputs(texts, pairs, batch_size=batch_size)
        return [decode(logits, self.labels, temperature) for logits in outputs]

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """Columns `label`, `probability` and, if the calibration has a threshold, `sure`: the threshold is reached."""
        sure: dict[str, ColumnType] = {} if self.calibration.threshold is None else {"sure": bool}
        return {"label": str, "probability": float, **sure}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        for label, probability in map(dataclasses.astuple, self.predict(texts, seconds)):
            sure = () if self.calibration.threshold is None else (self.calibration.is_sure(probability),)
            yield label, probability, *sure

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Label, probability and text; `not sure (LABEL)` below the calibration's threshold."""
        label, probability = values[:2]
        return [(self._format_label(label, probability), f"{probability:.4f}", *texts)]
