"""Rows of `reranking`: the relevance of a passage for a query."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from components.dsl.errors import InputError
from components.examples.base import Encoding
from components.examples.texts import TextRows, encode_texts
from components.sources.table import TextRow
from keras_bert.core.folding import fold


class RerankingRows(TextRows):
    """A query, a passage and its relevance; the rows of a query are a list and stay in one split."""

    name = "reranking"
    answers_numbers = True
    plural_name = "queries"

    def key(self, row: TextRow) -> tuple[str, ...]:
        """Returns the query: a list is in one split, whatever passages it has in common with others."""
        return (row.text,)

    def texts(self, row: TextRow) -> tuple[str, ...]:
        return row.text, row.second_text or ""

    def check(self, splits: Mapping[str, Sequence[TextRow]]) -> None:
        """Raises InputError if a split has no list to be sorted, or what models are measured by is negative."""
        for split, rows in splits.items():
            lists = group_queries(rows)
            if not any(has_order([rows[index] for index in indices]) for indices in lists):
                raise InputError(
                    f"{split} must hold a query that has passages of different relevance, got one relevance for all "
                    f"passages of each of {len(lists)} queries; add passages that do not answer a query"
                )
            lowest = min(rows, key=lambda row: float(row.label))
            if split != "train" and float(lowest.label) < 0:
                raise InputError(
                    f"{split} must hold relevances of at least 0, as they are the gains of nDCG, got {lowest.label} "
                    f"for {lowest.text[:40]!r}; give sigmoid(score) for a score that is a logit"
                )

    def records(self, rows: Sequence[TextRow], encoding: Encoding) -> Iterator[bytes]:
        from keras_bert.data.records import serialize

        lists = group_queries(rows)
        numbers = [number for number, indices in enumerate(lists) for _ in indices]
        ordered = [rows[index] for indices in lists for index in indices]
        for number, (row, features) in zip(numbers, encode_texts(ordered, encoding), strict=True):
            yield serialize({**features, "value": float(row.label), "list": [number]})


def group_queries(rows: Iterable[TextRow]) -> list[list[int]]:
    """The indices of the rows of each query; queries are equal if `fold` makes them equal."""
    lists: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        lists[fold(row.text)].append(index)
    return list(lists.values())


def has_order(rows: Sequence[Any]) -> bool:
    """Whether the passages of a list differ in relevance."""
    return len({float(row.label) for row in rows}) > 1
