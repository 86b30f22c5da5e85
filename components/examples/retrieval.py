"""Rows and records of `retrieval`: queries with their passages."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from components.dsl.errors import InputError
from components.examples.base import Encoding, TaskRows, row_batches
from components.examples.texts import encode_rows
from components.files.tables import Record
from components.sources.retrieval import QueryRow
from components.sources.teacher_columns import stored_answer
from keras_bert.core.folding import fold

Tokens = dict[str, list[int]]


class SplitCorpus(NamedTuple):
    """The passages that queries of a split search; texts are equal if `fold` makes them equal.

    Attributes:
        passages: the distinct passages and negatives of the rows; of equal texts the first spelling.
        row_passages: the indices of the passages of each row.
        relevant: the distinct indices of all passages of each row's query, over all rows of the query.
        negatives: the distinct indices of the negatives of each row, without relevant passages.
    """

    passages: list[str]
    row_passages: list[list[int]]
    relevant: list[list[int]]
    negatives: list[list[int]]

    @classmethod
    def of(cls, rows: Sequence[QueryRow]) -> "SplitCorpus":
        """The corpus of the rows of a split."""
        passages = dict[str, tuple[int, str]]()
        sides = [
            [
                [passages.setdefault(fold(text), (len(passages), text))[0] for text in side]
                for side in (row.passages, row.negatives)
            ]
            for row in rows
        ]
        queries = [fold(row.query) for row in rows]
        answers: dict[str, dict[int, None]] = defaultdict(dict)
        for query, (row_passages, _) in zip(queries, sides, strict=True):
            answers[query].update(dict.fromkeys(row_passages))
        return cls(
            [text for _, text in passages.values()],
            [row_passages for row_passages, _ in sides],
            [list(answers[query]) for query in queries],
            [
                [place for place in dict.fromkeys(negatives) if place not in answers[query]]
                for query, (_, negatives) in zip(queries, sides, strict=True)
            ],
        )


class RetrievalRows(TaskRows[QueryRow]):
    """A query, its passages and its negatives; each passage makes a record."""

    name = "retrieval"
    fields = ("query", "passages", "negatives")
    plural_name = "queries"
    encodes_separately = has_vectors = compares_batches = True

    def answer_shape(self, labels: Sequence[str]) -> list[int]:
        return []

    def parse(self, record: Record) -> QueryRow:
        query, passages, negatives = record.values
        return QueryRow(query, tuple(passages), tuple(negatives), stored_answer(record))

    def key(self, row: QueryRow) -> tuple[str, ...]:
        """Returns the query. Splits may share passages, because passages are the searched corpus."""
        return (row.query,)

    def check(self, splits: Mapping[str, Sequence[QueryRow]]) -> None:
        for split, rows in splits.items():
            texts = SplitCorpus.of(rows).passages
            if len(texts) < 2:
                raise InputError(f"{split} must hold at least 2 different passages, got only {texts[0][:40]!r}")

    def settings(self, encoding: Encoding, train: Sequence[QueryRow]) -> dict[str, Any]:
        prompts = {"query": encoding.prompts.query, "passage": encoding.prompts.passage}
        return {**super().settings(encoding, train), "prompts": prompts}

    def records(self, rows: Sequence[QueryRow], encoding: Encoding) -> Iterator[bytes]:
        """A record for each passage of each row.

        Each text is tokenized once per block of rows.
        """
        from keras_bert.data.records import serialize
        from keras_bert.data.schemas import group_passages

        corpus = SplitCorpus.of(rows)
        groups = group_passages(corpus.relevant, len(corpus.passages))
        for start, part in row_batches(rows):
            queries = _encode(encoding.prompts.query, [row.query for row in part], encoding)
            numbers = range(start, start + len(part))
            texts = [text for row in part for text in row.passages]
            texts += [corpus.passages[index] for number in numbers for index in corpus.negatives[number]]
            tokens = _encode(encoding.prompts.passage, texts, encoding)
            for number, row in zip(numbers, part, strict=True):
                negatives = [tokens[corpus.passages[index]]["token_ids"] for index in corpus.negatives[number]]
                shared: dict[str, Any] = {
                    **queries[row.query],
                    "negative_texts": [token for negative in negatives for token in negative],
                    "negative_lengths": [len(negative) for negative in negatives],
                    "negative_groups": [groups[index] for index in corpus.negatives[number]],
                    "answer_groups": [*dict.fromkeys(groups[index] for index in corpus.relevant[number])],
                    "row": [number],
                }
                scores = _find_scores(row)
                if encoding.has_teacher_answers:
                    texts_of_row = (corpus.passages[index] for index in corpus.negatives[number])
                    negative_scores = np.array([scores.get(fold(text), np.nan) for text in texts_of_row], np.float32)
                    shared["negative_scores"] = negative_scores
                for passage, index in zip(row.passages, corpus.row_passages[number], strict=True):
                    second = {f"second_{name}": values for name, values in tokens[passage].items()}
                    if encoding.has_teacher_answers:
                        # A list of one candidate says nothing.
                        is_answered = fold(passage) in scores and not np.isnan(negative_scores).all()
                        answers = {"has_answers": [int(is_answered)], "has_label": [1]}
                        shared |= {**answers, "teacher_answers": float(scores.get(fold(passage), 0.0))}
                    yield serialize({**shared, **second, "passage_group": [groups[index]]})


def _find_scores(row: QueryRow) -> dict[str, float]:
    """Passage or negative, folded -> a teacher's score; negatives that were mined later have none."""
    numbers = row.teacher.numbers if row.teacher else ()
    scores = zip((*row.passages, *row.negatives), numbers, strict=False)
    return {fold(text): score for text, score in scores if not math.isnan(score)}


def _encode(prompt: str, texts: Sequence[str], encoding: Encoding) -> dict[str, Tokens]:
    """Text -> `token_ids` and `segment_ids` of the text behind a prompt."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, encode_rows([prompt + text for text in distinct], None, encoding), strict=True))
