"""Rows with any number of labels."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from components.dsl.errors import InputError
from components.examples.base import Encoding
from components.examples.texts import PlainTextRows, split_texts
from components.files.tables import Record
from components.sources.label_sets import LabelSetRow
from components.sources.teacher_columns import stored_answer


class LabelSetRows(PlainTextRows[LabelSetRow]):
    """The labels of each text or pair."""

    name = "multi_label"
    fields = ("text", "labels", "second_text")
    may_be_unlabelled = True

    def parse(self, record: Record) -> LabelSetRow:
        text, labels, second_text = record.values
        return LabelSetRow(text, tuple(labels), second_text, stored_answer(record))

    def answer(self, row: LabelSetRow) -> str:
        return ", ".join(row.labels)

    def labels(self, source: Any, train: Sequence[LabelSetRow]) -> list[str]:
        labels: list[str] = source.label_order({label for row in train for label in row.labels})
        return labels

    def check(self, splits: Mapping[str, Sequence[LabelSetRow]]) -> None:
        """Raises InputError where a label of validation or test rows stays in no training row."""
        counts = {split: self.count_labels(rows) for split, rows in splits.items()}
        for split in ("validation", "test"):
            for label in sorted(counts[split].keys() - counts["train"].keys()):
                raise InputError(
                    f"the label {label!r} must keep a row for training, but all {counts[split][label]} with it are "
                    f"{split} rows; add training rows with that label"
                )

    def count_labels(self, rows: Iterable[LabelSetRow]) -> Counter[str]:
        return Counter(label for row in rows for label in row.labels)

    def balanced_weights(self, counts: Sequence[int], rows: int) -> list[float]:
        """The weight of a label's rows that makes them weigh as much as all rows without it."""
        from keras_bert.objectives.class_weights import balanced_positive_weights

        return balanced_positive_weights(counts, rows)

    def settings(self, encoding: Encoding, train: Sequence[LabelSetRow]) -> dict[str, Any]:
        chosen = {"labels": list(encoding.labels), "label_precision": encoding.label_precision}
        return {**super().settings(encoding, train), **chosen}

    def tuning_columns(self, rows: Sequence[LabelSetRow]) -> tuple[Any, ...]:
        texts, pairs = split_texts(rows)
        return texts, [row.labels for row in rows], pairs

    def label_feature(self, row: LabelSetRow, encoding: Encoding) -> dict[str, Any]:
        return {"label": [int(label in row.labels) for label in encoding.labels]}
