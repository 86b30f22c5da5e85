"""Queries with the passages that answer them, from tables with named columns."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, Self

import pydantic

from components.dsl.errors import InputError
from components.files.record_files import as_text, read_table
from components.sources.shared import LabelledFiles
from keras_bert.core.checks import check
from keras_bert.core.folding import fold
from keras_bert.core.validation import NonEmptyStr, validated_dataclass
from keras_bert.options.data import Prompts


class QueryRow(NamedTuple):
    """A query, all passages that answer it, and passages that do not."""

    query: str
    passages: tuple[str, ...]
    negatives: tuple[str, ...] = ()


@validated_dataclass(kw_only=False)
class RetrievalSource(LabelledFiles):
    """Pairs of a query and a passage that answers it, and perhaps negatives, in tables with named columns.

    Tables are `.tsv`, `.csv`, `.jsonl`, `.parquet` or `.arrow`; text formats may be compressed: `.gz`, `.bz2`, `.zst`.
    Rows with the same query are one row with several passages. A value may be a list of texts where the format has
    lists.

    Attributes:
        query: the column of the query, or of a triplet's anchor.
        passage: the column of the passage that answers the query, or of a triplet's positive.
        negatives: the columns of passages that do not answer the query; empty for pairs.
        prompts: the texts in front of queries and passages; None for those of the checkpoint.
        task: `retrieval`.
    """

    query: NonEmptyStr = "query"
    passage: NonEmptyStr = "passage"
    negatives: tuple[NonEmptyStr, ...] = ()
    prompts: Prompts | None = None
    task: Literal["retrieval"] = "retrieval"

    @pydantic.model_validator(mode="after")
    def _check_columns(self) -> Self:
        columns = self._columns()
        different = len(set(columns)) == len(columns)
        check("RetrievalSource", "query", different, "be another column than passage and negatives", columns)
        return self

    def splits(self) -> dict[str, list[QueryRow]]:
        """The rows of each table that is given, by split; each query once, in the order of the table.

        Raises:
            InputError: a table is missing, empty, not UTF-8 or without a named column; a query has no passage, or a
                passage of its own as a negative.
        """
        return {split: self._read(path) for split, path in self.paths().items()}

    def _read(self, path: str) -> list[QueryRow]:
        # Query -> its passages, each with its place, and its negatives.
        rows = dict[str, tuple[dict[str, str], dict[str, None]]]()
        columns = self._columns()
        for record in read_table(path, tuple(columns)):
            pairs = zip(record.values, columns, strict=True)
            queries, answers, *others = (_read_texts(value, record.where, column) for value, column in pairs)
            if len(queries) != 1:
                raise InputError(f"{record.where}: column {self.query!r} must hold one query, got {len(queries)}")
            held = rows.setdefault(queries[0], ({}, {}))
            for passage in answers:
                held[0].setdefault(passage, record.where)
            held[1].update(dict.fromkeys(text for column in others for text in column))
        for query, (passages, negatives) in rows.items():
            folded = {fold(passage): place for passage, place in passages.items()}
            for negative in negatives:
                if (place := folded.get(fold(negative))) is not None:
                    rule = f"be no passage of its query {query[:40]!r}"
                    raise InputError(f"{place}: the negative {negative[:40]!r} must {rule}; remove it")
        return [QueryRow(query, tuple(passages), tuple(negatives)) for query, (passages, negatives) in rows.items()]

    def _columns(self) -> list[str]:
        return [self.query, self.passage, *self.negatives]


def _read_texts(value: Any, where: str, column: str) -> list[str]:
    """The text of a cell, or the texts of a list."""
    values: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    texts = [as_text(text, where, column, is_filled=True).strip() for text in values]
    if not texts:
        raise InputError(f"{where}: column {column!r} must not be empty")
    return texts
