"""Rows with a label."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from components.examples.base import Encoding
from components.examples.texts import TextRows
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

    def label_feature(self, row: TextRow, encoding: Encoding) -> dict[str, Any]:
        return {"label": [encoding.label_numbers[row.label]]}
