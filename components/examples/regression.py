"""Rows with a number."""

from collections.abc import Iterator, Mapping, Sequence

from components.examples.base import Encoding
from components.examples.texts import TextRows, encode_texts
from components.sources.shared import check_numbers
from components.sources.table import TextRow


class RegressionRows(TextRows):
    """A number for each text or pair."""

    name = "regression"

    def check(self, splits: Mapping[str, Sequence[TextRow]]) -> None:
        """Raises InputError where a split to measure on has no two different numbers: nothing correlates with them."""
        require_different_numbers(splits)

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
