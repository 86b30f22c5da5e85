"""Rows with a label."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from components.examples.base import Encoding
from components.examples.texts import TextRows, encode_texts
from components.sources.table import TextRow


class ClassificationRows(TextRows):
    """A label for each text or pair."""

    name = "classification"
    may_be_unlabelled = True

    def stratum(self, row: TextRow) -> str:
        return row.label

    def labels(self, source: Any, train: Sequence[TextRow]) -> list[str]:
        return sorted({row.label for row in train})

    def count_labels(self, rows: Iterable[TextRow]) -> Counter[str]:
        return Counter(row.label for row in rows)

    def settings(self, encoding: Encoding, train: Sequence[TextRow]) -> dict[str, Any]:
        return {**super().settings(encoding, train), "labels": list(encoding.labels)}

    def records(self, rows: Sequence[TextRow], encoding: Encoding) -> Iterator[bytes]:
        from keras_bert.data.records import serialize

        numbers = {label: number for number, label in enumerate(encoding.labels)}
        for row, features in encode_texts(rows, encoding):
            yield serialize({**features, "label": [numbers[row.label]], **self.teacher_features(row, encoding)})
