"""Rows of the tasks `regression` and `embedding`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.dsl.errors import InputError
from components.examples.base import Encoding, row_batches
from components.examples.texts import TextRows, encode_rows
from components.sources.shared import check_numbers
from components.sources.table import TextRow

# Losses are sums of squared distances in float32, whose largest number is 3.4e38.
_MOST_DEVIATIONS, _LARGEST = 1e15, 1e30


class RegressionRows(TextRows):
    """Rows of `regression`: a number for each text or pair."""

    name = "regression"
    answers_numbers = True
    may_be_unlabelled = True

    def answer_shape(self, labels: Sequence[str]) -> list[int]:
        return [1]

    def check(self, splits: Mapping[str, Sequence[TextRow]]) -> None:
        from keras_bert.core.target_scale import TOO_CLOSE, TargetScale, fit_float32

        require_different_numbers(splits)
        numbers = [float(row.label) for row in splits["train"]]
        if not fit_float32(numbers):
            raise InputError(f"the numbers of train must {TOO_CLOSE}, got {numbers[:2]}")
        mean, deviation = TargetScale.of(numbers)
        most = min(_MOST_DEVIATIONS * deviation, _LARGEST)
        for split, rows in splits.items():
            for row in rows:
                if abs(float(row.label) - mean) > most:
                    raise InputError(
                        f"{split} must hold numbers within {most:.3g} of the mean of the training numbers, {mean:.3g}, "
                        f"as losses are squares in float32, got {float(row.label):.3g}; correct that row or leave it "
                        "out"
                    )

    def settings(self, encoding: Encoding, train: Sequence[TextRow]) -> dict[str, Any]:
        from keras_bert.core.target_scale import TargetScale

        scale = TargetScale.of(float(row.label) for row in train)
        return {**super().settings(encoding, train), **scale._asdict()}


def require_different_numbers(splits: Mapping[str, Sequence[TextRow]]) -> None:
    """Raises InputError unless validation and test rows have at least two different numbers.

    The source has checked its own files. An error here is about rows that were taken out of training.
    """
    numbers = {split: (row.label for row in splits[split]) for split in ("validation", "test")}
    check_numbers(numbers, " in the rows taken out of training; add rows or give a file")


class EmbeddingRows(TextRows):
    """Rows of `embedding`: the similarity of two texts, which are encoded separately."""

    name = "embedding"
    answers_numbers = True
    encodes_separately = has_vectors = True

    def answer_shape(self, labels: Sequence[str]) -> list[int]:
        return []

    def check(self, splits: Mapping[str, Sequence[TextRow]]) -> None:
        require_different_numbers(splits)

    def records(self, rows: Sequence[TextRow], encoding: Encoding) -> Iterator[bytes]:
        from keras_bert.data.records import serialize

        for _, part in row_batches(rows):
            firsts = encode_rows([row.text for row in part], None, encoding)
            seconds = encode_rows([row.second_text or "" for row in part], None, encoding)
            for row, first, second in zip(part, firsts, seconds, strict=True):
                features = {**first, **{f"second_{name}": values for name, values in second.items()}}
                yield serialize({**features, "value": float(row.label), **self.teacher_features(row, encoding)})
