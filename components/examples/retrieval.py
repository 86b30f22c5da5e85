"""Queries with the passages that answer them, as records."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from components.dsl.errors import InputError
from components.examples.base import Encoding, TaskRows, parts
from components.examples.texts import encode_rows
from components.files.record_files import Record
from components.sources.retrieval import QueryRow
from components.text.folding import fold

Tokens = dict[str, list[int]]


class SplitCorpus(NamedTuple):
    """The passages that the queries of a split are searched in.

    Attributes:
        passages: all passages and negatives of the rows, each once.
        relevant: the indices of the passages of each row.
    """

    passages: list[str]
    relevant: list[list[int]]

    @classmethod
    def of(cls, rows: Sequence[QueryRow]) -> "SplitCorpus":
        """The corpus of the rows of a split."""
        passages = list(dict.fromkeys(text for row in rows for text in (*row.passages, *row.negatives)))
        places = {text: place for place, text in enumerate(passages)}
        return cls(passages, [[places[text] for text in row.passages] for row in rows])


class RetrievalRows(TaskRows[QueryRow]):
    """A query, its passages and its negatives; each passage makes a record."""

    name = "retrieval"
    fields = ("query", "passages", "negatives")
    several = "queries"

    def parse(self, record: Record) -> QueryRow:
        """The row of a record."""
        query, passages, negatives = record.values
        return QueryRow(query, tuple(passages), tuple(negatives))

    def key(self, row: QueryRow) -> tuple[str, ...]:
        """The query; splits may share passages, which are what is searched."""
        return (row.query,)

    def check(self, splits: Mapping[str, Sequence[QueryRow]]) -> None:
        """Raises InputError where all passages of a split are one: there is nothing to tell it from."""
        for split, rows in splits.items():
            texts = {fold(text) for row in rows for text in (*row.passages, *row.negatives)}
            if len(texts) < 2:
                raise InputError(f"{split} must hold at least 2 different passages, got only {texts.pop()[:40]!r}")

    def settings(self, encoding: Encoding, train: Sequence[QueryRow]) -> dict[str, Any]:
        """The longest input, and the prompts."""
        prompts = {"query": encoding.prompts.query, "passage": encoding.prompts.passage}
        return {**super().settings(encoding, train), "prompts": prompts}

    def records(self, rows: Sequence[QueryRow], encoding: Encoding) -> Iterator[bytes]:
        """A record for each passage of each row; texts that differ in white space and letter case alone are one group.

        Each text is tokenized once for all rows of a portion that have it.
        """
        from keras_bert.data.records import serialize

        query_groups, groups = _Groups(), _Groups()
        for start, part in parts(rows):
            queries = _encode(encoding.prompts.query, [row.query for row in part], encoding)
            texts = [text for row in part for text in (*row.passages, *row.negatives)]
            tokens = _encode(encoding.prompts.passage, texts, encoding)
            for number, row in enumerate(part, start=start):
                negatives = [tokens[text]["token_ids"] for text in row.negatives]
                shared = {
                    **queries[row.query],
                    "negative_texts": [token for negative in negatives for token in negative],
                    "negative_lengths": [len(negative) for negative in negatives],
                    "negative_groups": [groups.number(text) for text in row.negatives],
                    "query_group": [query_groups.number(row.query)],
                    "row": [number],
                }
                for passage in row.passages:
                    second = {f"second_{name}": values for name, values in tokens[passage].items()}
                    yield serialize({**shared, **second, "passage_group": [groups.number(passage)]})


class _Groups:
    """Numbers of texts, equal for texts that are equal but for white space and letter case."""

    def __init__(self) -> None:
        self._numbers = dict[str, int]()

    def number(self, text: str) -> int:
        return self._numbers.setdefault(fold(text), len(self._numbers))


def _encode(prompt: str, texts: Sequence[str], encoding: Encoding) -> dict[str, Tokens]:
    """Text -> `token_ids` and `segment_ids` of the text behind a prompt."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, encode_rows([prompt + text for text in distinct], None, encoding), strict=True))
