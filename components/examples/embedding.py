"""Pairs of texts with their similarity."""

from collections.abc import Iterator, Mapping, Sequence

from components.examples.base import Encoding
from components.examples.regression import require_different_numbers
from components.examples.texts import TextRows, encode_apart
from components.sources.table import TextRow


class EmbeddingRows(TextRows):
    """The similarity of two texts, each with a vector."""

    name = "embedding"
    answers_numbers = True
    reads_apart = True

    def check(self, splits: Mapping[str, Sequence[TextRow]]) -> None:
        """Raises InputError where a split to measure on has no two different numbers."""
        require_different_numbers(splits)

    def records(self, rows: Sequence[TextRow], encoding: Encoding) -> Iterator[bytes]:
        """One record a row."""
        from keras_bert.data.records import serialize

        for row, features in encode_apart(rows, encoding):
            yield serialize({**features, "value": float(row.label)})
