"""Multi-label classification: any number of labels for a text or a pair of texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.core.checks import as_list, check
from keras_bert.metrics.label_thresholds import HALF, choose_thresholds, label_probabilities, reach_thresholds
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import Array, Features, Runtime
from keras_bert.tasks.checks import as_columns, as_texts, check_same_length, label_number
from keras_bert.tasks.classification import Prediction, TextClassifier

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer

# The answer that a terminal shows for a text without labels.
NO_LABEL = "(no label)"


class MultiLabelClassification(TextClassifier):
    """Any number of labels for each text, or for each pair of texts: those whose probability reaches their threshold.

    Probabilities are sigmoids of the logits, one by one.

    Args:
        model: a model as `build_classifier` returns it, or an exported file; for tokenizer and max_length see `Task`.
        labels: the names of the classes, in the order of the logits.
        thresholds: the least probability of each label, 0 to 1, before calibration; None instead of a number for
            a label that is never given. None for 0.5 each; `choose_thresholds` finds better ones.
        label_precision: the precision that `choose_thresholds` looks for, above 0 and at most 1; None for the best F1.

    Raises:
        TypeError: a label is not a string.
        ValueError: see `TextClassifier`; or there are not as many thresholds as labels, or one is out of range.

    Examples:
        >>> topics = MultiLabelClassification.build(task.encoder, task.tokenizer, labels=["art", "film"], max_length=16)
        >>> inputs, flags = topics.examples(["film film", "film", "film"], [["film"], ["art", "film"], []])
        >>> flags.tolist()
        [[0, 1], [1, 1], [0, 0]]
        >>> topics.thresholds = [None, 0.0]
        >>> [[prediction.label for prediction in answer] for answer in topics.predict(["film"])]
        [['film']]
    """

    name = "multi_label"
    independent_labels = True
    tunes = True
    link = "sigmoid"

    def __init__(
        self,
        model: keras.Model | Runtime,
        tokenizer: BaseTokenizer,
        *,
        labels: Sequence[str],
        max_length: int = 128,
        thresholds: Sequence[float | None] | None = None,
        label_precision: float | None = None,
    ) -> None:
        super().__init__(model, tokenizer, labels=labels, max_length=max_length)
        owner, precision = type(self).__name__, label_precision
        fits = precision is None or 0 < precision <= 1
        check(owner, "label_precision", fits, "be above 0 and at most 1, or None", precision)
        self.label_precision = precision
        self.thresholds = (HALF,) * len(self.labels) if thresholds is None else thresholds

    @property
    def thresholds(self) -> tuple[float | None, ...]:
        """The least probability of each label, before calibration; None for a label that is never given."""
        return self._thresholds

    @thresholds.setter
    def thresholds(self, thresholds: Sequence[float | None]) -> None:
        owner, values = type(self).__name__, tuple(thresholds)
        check(owner, "thresholds", len(values) == len(self.labels), f"be one for each of {len(self.labels)}", values)
        fits = all(value is None or (math.isfinite(value) and 0 <= value <= 1) for value in values)
        check(owner, "thresholds", fits, "be between 0 and 1, or None", values)
        self._thresholds = tuple(None if value is None else float(value) for value in values)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "thresholds": list(self.thresholds), "label_precision": self.label_precision}

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        return np.asarray((self.decide(reference) == self.decide(candidate)).mean(axis=-1))

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from keras_bert.objectives.tasks import MultiLabelObjective

        return MultiLabelObjective(class_weights, self.thresholds)

    def loss(self) -> keras.losses.Loss:
        """Mean binary cross-entropy over rows and labels, in nats."""
        import keras

        return keras.losses.BinaryCrossentropy(from_logits=True)

    def metrics(self) -> list[keras.metrics.Metric]:
        from keras_bert.metrics.accuracy import MicroF1

        return [MicroF1()]

    def examples(
        self, texts: Sequence[str], labels: Sequence[Sequence[str]], pairs: Sequence[str] | None = None
    ) -> tuple[Features, Array]:
        """Arguments of `model.fit`: the inputs (rows, length), and 1 for each label of a row (rows, labels) int32.

        Raises:
            TypeError: the labels of a row are not a list of strings.
            ValueError: a label is unknown.
        """
        texts, labels = as_columns(texts=texts, labels=labels)
        inputs, flags = self.encode(texts, pairs), self.flags(labels)
        return inputs, flags

    def flags(self, labels: Sequence[Sequence[str]]) -> Array:
        """The labels of each row as 1, others as 0: (rows, labels) int32.

        Raises:
            TypeError: the labels of a row are not a list of strings.
            ValueError: a label is unknown.
        """
        flags = np.zeros((len(labels), len(self.labels)), "int32")
        for row, names in enumerate(labels):
            names = sorted(names) if isinstance(names, set | frozenset) else names
            for name in as_texts(f"labels[{row}]", names, at_least=0):
                flags[row, label_number(f"labels[{row}]", name, self.labels)] = 1
        return flags

    def decide(self, logits: Array) -> Array:
        """Whether each label is given: logits (..., labels) -> bool (..., labels)."""
        return reach_thresholds(logits, self.thresholds)

    def choose_thresholds(self, logits: Array, labels: Sequence[Sequence[str]]) -> None:
        """Sets `thresholds` to those that suit labelled rows best, which should be no rows of training.

        They have the best F1 of all decisions together, or with `label_precision` reach this precision: see
        `keras_bert.metrics.label_thresholds.choose_thresholds`.

        Args:
            logits: the model's outputs (rows, labels).
            labels: the labels of each row.

        Raises:
            ValueError: a label is unknown, or there are not as many rows of labels as of logits.

        Examples:
            >>> topics = MultiLabelClassification.build(task.encoder, task.tokenizer, labels=["a", "b"], max_length=16)
            >>> topics.choose_thresholds(np.array([[3.0, -1.0], [1.0, -2.0]]), [["a", "b"], []])
            >>> [round(threshold, 2) for threshold in topics.thresholds]
            [0.19, 0.19]
        """
        labels = as_list("labels", labels)
        check_same_length("logits", logits, "labels", labels)
        flags = self.flags(labels).astype(bool)
        self.thresholds = choose_thresholds(label_probabilities(logits), flags, self.label_precision)

    def tune(self, texts: Sequence[str], labels: Sequence[Sequence[str]], pairs: Sequence[str] | None = None) -> None:
        self.choose_thresholds(np.stack(list(self.outputs(texts, pairs))), labels)

    def predict(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, batch_size: int = 32
    ) -> list[list[Prediction]]:
        """The labels of each text, or of each pair, most probable first; probabilities are those of `calibration`."""
        outputs = self.outputs(texts, pairs, batch_size=batch_size)
        return [[answer for answer, given in self.rank(logits) if given] for logits in outputs]

    def rank(self, logits: Array) -> list[tuple[Prediction, bool]]:
        """All labels, the most probable first, each with whether it is given: logits (labels,)."""
        shares, given = label_probabilities(logits, self.calibration.temperature), self.decide(logits)
        order = np.argsort(-shares, kind="stable")
        return [(Prediction(self.labels[number], float(shares[number])), bool(given[number])) for number in order]

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """`labels`, a list of those that are given, and `probabilities`, a list of `Prediction` of all labels."""
        return {"labels": list[str], "probabilities": list[Prediction]}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        for ranked in map(self.rank, self.outputs(texts, seconds)):
            yield [answer.label for answer, given in ranked if given], [answer for answer, _ in ranked]

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The labels, their probabilities, and the text; `(no label)` if there are none."""
        labels, ranked = values
        probabilities = (f"{answer.probability:.4f}" for answer in ranked if answer.label in labels)
        return [(", ".join(labels) or NO_LABEL, ", ".join(probabilities), *texts)]
