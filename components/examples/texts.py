"""Texts and pairs of texts as records, for classification, regression and embedding."""

import abc
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from components.examples.base import Encoding, TaskRows, row_batches
from components.files.tables import Record
from components.sources.label_sets import LabelSetRow
from components.sources.table import TextRow
from components.sources.teacher_columns import stored_answer
from keras_bert.core.folding import fold

# Rows of texts or pairs.
R = TypeVar("R", TextRow, LabelSetRow)


class PlainTextRows(TaskRows[R]):
    """Rows of a text, or of the two texts of a pair."""

    plural_name = "texts"

    def key(self, row: R) -> tuple[str, ...]:
        """Both texts, sorted: a model that has learnt a pair has seen the texts of the swapped pair."""
        return tuple(sorted((row.text, row.second_text or ""), key=fold, reverse=True))

    def texts(self, row: R) -> tuple[str, ...]:
        return (row.text,) if row.second_text is None else (row.text, row.second_text)

    @abc.abstractmethod
    def label_feature(self, row: R, encoding: Encoding) -> dict[str, Any]:
        """The label or number of a row, as a feature of its record."""

    def records(self, rows: Sequence[R], encoding: Encoding) -> Iterator[bytes]:
        from keras_bert.data.records import serialize

        for row, features in encode_texts(rows, encoding):
            label = self.label_feature(row, encoding)
            yield serialize({**features, **label, **self.teacher_features(row, encoding)})


class TextRows(PlainTextRows[TextRow]):
    """Rows of a table: a text, its label or number, and the second text of a pair."""

    fields: ClassVar[tuple[str, ...]] = ("text", "label", "second_text")

    def parse(self, record: Record) -> TextRow:
        return TextRow(*record.values)._replace(teacher=stored_answer(record))

    def answer(self, row: TextRow) -> str:
        return row.label

    def label_feature(self, row: TextRow, encoding: Encoding) -> dict[str, Any]:
        return {"value": float(row.label)}


def split_texts(rows: Sequence[TextRow] | Sequence[LabelSetRow]) -> tuple[list[str], list[str] | None]:
    """The texts, and the second ones of pairs."""
    if rows[0].second_text is None:
        return [row.text for row in rows], None
    return [row.text for row in rows], [row.second_text or "" for row in rows]


def encode_texts(rows: Sequence[R], encoding: Encoding) -> Iterator[tuple[R, dict[str, Any]]]:
    """Each row with `token_ids` and `segment_ids` of its text or pair."""
    for _, part in row_batches(rows):
        yield from zip(part, encode_rows(*split_texts(part), encoding), strict=True)


def encode_rows(texts: list[str], pairs: list[str] | None, encoding: Encoding) -> Iterator[dict[str, Any]]:
    """`token_ids` and `segment_ids` of each text or pair."""
    tokenizer = encoding.tokenizer
    encoded = tokenizer.encode(texts, pairs, max_length=encoding.max_length)
    token_ids, segment_ids = (encoded[name].numpy() for name in ("token_ids", "segment_ids"))
    whole = tokenizer.tokenize(texts).row_lengths() + tokenizer.special_count(1 if pairs is None else 2)
    whole = (whole if pairs is None else whole + tokenizer.tokenize(pairs).row_lengths()).numpy()
    for row, length in enumerate(encoded["padding_mask"].numpy().sum(axis=1)):
        encoding.cut[bool(whole[row] > length)] += 1
        yield {"token_ids": token_ids[row, :length].tolist(), "segment_ids": segment_ids[row, :length].tolist()}
