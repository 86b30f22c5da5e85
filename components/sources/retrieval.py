"""Queries with the passages that answer them, from tables with named columns."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import pydantic

from components.dsl.errors import InputError
from components.files.tables import Record, as_text, read_table
from components.sources.shared import KeptColumns, NotedSplits
from components.sources.teacher_columns import AnyAnswer, FilesWithTeacherAnswers, TeacherAnswer, read_score
from keras_bert.core.checks import check
from keras_bert.core.folding import fold
from keras_bert.core.validation import NonEmptyStr, validated_dataclass
from keras_bert.options.data import Prompts


class QueryRow(NamedTuple):
    """A query, all passages that answer it, passages that do not, and a teacher's scores of these."""

    query: str
    passages: tuple[str, ...]
    negatives: tuple[str, ...] = ()
    teacher: AnyAnswer = ()


@validated_dataclass(kw_only=False)
class RetrievalSource(FilesWithTeacherAnswers):
    """Pairs of a query and a passage that answers it, and perhaps negatives, in tables with named columns.

    Tables are `.tsv`, `.csv`, `.jsonl`, `.parquet` or `.arrow`; text formats may be compressed: `.gz`, `.bz2`, `.zst`.
    Rows with the same query are one row with several passages. A value may be a list of texts where the format has
    lists.

    Attributes:
        query: the column of the query, or of a triplet's anchor.
        passage: the column of the passage that answers the query, or of a triplet's positive.
        negatives: the columns of passages that do not answer the query; empty for pairs.
        prompts: the texts in front of queries and passages; None for the prompts of the checkpoint.
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

    def read_splits(self, kept: KeptColumns) -> NotedSplits:
        """See `LabelledFiles.splits`; each query once, in the order of the table."""
        return NotedSplits({split: self._read(path, split) for split, path in self.paths().items()})

    def _read(self, path: str, split: str) -> list[QueryRow]:
        columns = self._columns()
        records: Iterable[Record] = read_table(path, tuple(columns), has_cells=self.has_teacher_answers)
        if self.has_teacher_answers and split == "train":
            records = list(records)
            self.answer_labels(records)  # refuses a column without answers
        # Query -> its passages, each with its place, its negatives, and the scores of both.
        rows = dict[str, tuple[dict[str, str], dict[str, None], dict[str, float]]]()
        for record in records:
            pairs = zip(record.values, columns, strict=True)
            queries, answers, *others = (_read_texts(value, record.where, column) for value, column in pairs)
            if len(queries) != 1:
                raise InputError(f"{record.where}: column {self.query!r} must hold one query, got {len(queries)}")
            held = rows.setdefault(queries[0], ({}, {}, {}))
            for passage in answers:
                held[0].setdefault(passage, record.where)
            held[1].update(dict.fromkeys(text for column in others for text in column))
            held[2].update(self._read_scores(record, [*answers, *(text for column in others for text in column)]))
        for query, (passages, negatives, _) in rows.items():
            folded = {fold(passage): place for passage, place in passages.items()}
            for negative in negatives:
                if (place := folded.get(fold(negative))) is not None:
                    rule = f"be no passage of its query {query[:40]!r}"
                    raise InputError(f"{place}: the negative {negative[:40]!r} must {rule}; remove it")
        return [
            QueryRow(query, tuple(passages), tuple(negatives), _order_scores((*passages, *negatives), scores))
            for query, (passages, negatives, scores) in rows.items()
        ]

    def own_labels(self, record: Record) -> Collection[str]:
        """None: passages are no labels."""
        return []

    def _read_scores(self, record: Record, texts: Sequence[str]) -> dict[str, float]:
        """The scores of the passages and negatives of a row; none where it has none."""
        raw, place = self.raw_answer(record), f"{record.where}: column {self.answer_column!r}"
        if raw is None:
            return {}
        if not isinstance(raw, list) or len(raw) != len(texts):
            got = f"{len(raw)} numbers" if isinstance(raw, list) else str(raw)[:40]
            raise InputError(f"{place} must be a list of {len(texts)} scores, of the passages and negatives, got {got}")
        return {text: read_score(score, place) for text, score in zip(texts, raw, strict=True)}

    def _columns(self) -> list[str]:
        return [self.query, self.passage, *self.negatives]


def _order_scores(texts: Sequence[str], scores: Mapping[str, float]) -> AnyAnswer:
    return TeacherAnswer(tuple(scores.get(text, math.nan) for text in texts), is_label=False) if scores else ()


def _read_texts(value: Any, where: str, column: str) -> list[str]:
    values: Iterable[Any] = value if isinstance(value, list | tuple) else [value]
    texts = [as_text(text, where, column, is_filled=True).strip() for text in values]
    if not texts:
        raise InputError(f"{where}: column {column!r} must not be empty")
    return texts
