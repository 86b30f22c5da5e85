"""Rows with a number."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.examples.base import Encoding
from components.examples.texts import TextRows, encode_texts
from components.sources.shared import check_numbers
from components.sources.table import TextRow


class RegressionRows(TextRows):
    """A number for each text or pair."""

    name = "regression"
    answers_numbers = True
    may_be_unlabelled = True

    def check(self, splits: Mapping[str, Sequence[TextRow]]) -> None:
        """Raises InputError where validation or test rows have no two different numbers, as nothing correlates then."""
        require_different_numbers(splits)

    def settings(self, encoding: Encoding, train: Sequence[TextRow]) -> dict[str, Any]:
        """The longest input, and mean and standard deviation of the training numbers, which the head standardizes."""
        from keras_bert.target_scale import TargetScale

        scale = TargetScale.of(float(row.label) for row in train)
        return {**super().settings(encoding, train), **scale._asdict()}

    def records(self, rows: Sequence[TextRow], encoding: Encoding) -> Iterator[bytes]:
        """One record a row."""
        from keras_bert.data.records import serialize

        for row, features in encode_texts(rows, encoding):
            yield serialize({**features, "value": float(row.label)})


def require_different_numbers(splits: Mapping[str, Sequence[TextRow]]) -> None:
    """Raises InputError unless validation and test rows have at least two different numbers.

    Those of the source's own splits it has checked itself; what fails here was taken out of training.
    """
    numbers = {split: (row.label for row in splits[split]) for split in ("validation", "test")}
    check_numbers(numbers, " in the rows taken out of training; add rows or give a file")
