"""The schema of labelled rows: what a model learnt from, as a readable file that later rows are held against.

As TFX's SchemaGen and ExampleValidator (Baylor et al. 2017, section 4; Breck et al. 2019), for texts.
"""

import base64
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.registry import TASK_ROWS
from components.examples.row_traits import TokenTraits, measure_rows, measure_tokens, sample_rows
from keras_bert.core.validation import validated_dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from keras_bert.tokenizers.base import BaseTokenizer

    WordHashes = NDArray[np.uint32]

SCHEMA_FILE = "schema.json"
# The most frequent tokens, and the name of all others.
_MOST_TOKENS, OTHER = 200, "other"
# Bins of lengths and numbers: tenths of the training rows, as the population stability index is used (Siddiqi 2006).
_BINS = 10

# The share of training rows that may be truncated without a word.
_MOST_TRUNCATED = 0.1

# The most words of a reference; with 4 bytes each, it takes 87 kB as text.
MOST_WORDS = 16_384


@validated_dataclass
class RowSchema:
    """Properties of training rows, and where later rows have their texts and labels.

    Attributes:
        source: fields of the source, such as the names of columns, without the files.
        length_edges: the largest number of tokens in each bin but the last, see `count_bins`.
        number_edges: likewise for the numbers of a regression or of similarities; empty for other tasks.
        unknown: the share of tokens that stand for text which the vocabulary does not have.
        words: the most frequent words, see `WordReference`.
        new_words: the share of words that further rows should have and `words` has not, see `WordReference`.
        tokens: id of a token -> its occurrences, for the most frequent tokens; `other` has the sum of all others.
        vectors: those of validation rows in the pushed file, see `components.scoring.row_vectors.encode_vectors`.
    """

    task: str
    source: dict[str, Any]
    rows: int
    max_length: int
    labels: dict[str, int]
    length_edges: list[float]
    lengths: list[int]
    number_edges: list[float]
    numbers: list[int]
    longer: float
    scripts: dict[str, float]
    unknown: float
    words: str
    new_words: float
    tokens: dict[str, int]
    tokens_per_word: float
    vectors: str = ""

    def describe_truncation(self, share: float) -> list[str]:
        """A clause if a large share of the training rows, 0 to 1, is truncated."""
        if share <= _MOST_TRUNCATED:
            return []
        limit = f"max_length = {self.max_length} tokens (median: {median_bin(self.lengths, self.length_edges)})"
        return [f"{100 * share:.1f} % of training rows have more than {limit} and are truncated; raise max_length"]

    @classmethod
    def parse(cls, content: Any, file: str) -> "RowSchema":
        """The schema that a JSON file holds."""
        try:
            schema = cls(**content)
            decode_words(schema.words)
            if OTHER not in schema.tokens or not all(name == OTHER or name.isdecimal() for name in schema.tokens):
                raise ValueError(f"tokens must have {OTHER!r} and ids of tokens, got {list(schema.tokens)[:3]}")
        except (TypeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{file} must hold the schema of labelled rows, got an error: {reason}") from None
        bins = [(schema.lengths, schema.length_edges)]
        bins += [(schema.numbers, schema.number_edges)] if schema.numbers or schema.number_edges else []
        if schema.task not in TASK_ROWS or any(len(counts) != len(edges) + 1 for counts, edges in bins):
            raise InputError(
                f"{file} must hold the schema of labelled rows, got task {schema.task!r} or bins without edges"
            )
        return schema


def infer_schema(
    rows: Sequence[Any], task: TaskRows[Any], fields: dict[str, Any], max_length: int, tokenizer: "BaseTokenizer"
) -> RowSchema:
    """The schema of training rows.

    `fields` are those of their source, see `RowSchema`. `max_length` is the most tokens of a row that the model reads;
    the tokenizer is an eager one.
    """
    traits, tokens = measure_rows(rows, task), measure_tokens(rows, task, tokenizer)
    numbers = numbers_of(rows, task)
    length_edges, number_edges = choose_edges(tokens.lengths), choose_edges(numbers)
    hashes = hash_row_words(rows, task)
    reference = WordReference.of(hashes)
    frequent = sorted(tokens.counts, key=lambda token: (-tokens.counts[token], token))[:_MOST_TOKENS]
    return RowSchema(
        task=task.name,
        source=fields,
        rows=traits.rows,
        max_length=max_length,
        labels=traits.labels,
        length_edges=length_edges,
        lengths=count_bins(tokens.lengths, length_edges),
        number_edges=number_edges,
        numbers=count_bins(numbers, number_edges) if numbers else [],
        longer=share_above(tokens, max_length),
        scripts=traits.scripts,
        unknown=tokens.unknown,
        words=reference.words,
        new_words=reference.new,
        tokens=count_tokens(tokens, map(str, frequent)),
        tokens_per_word=tokens.counts.total() / max(1, len(hashes)),
    )


def count_tokens(tokens: TokenTraits, names: Iterable[str]) -> dict[str, int]:
    """Id of a token -> its occurrences, for some tokens; `other` has the sum for all other tokens."""
    counts = {name: tokens.counts[int(name)] for name in names if name != OTHER}
    return {**counts, OTHER: tokens.counts.total() - sum(counts.values())}


def share_above(tokens: TokenTraits, max_length: int) -> float:
    """The share of rows with more tokens than a model reads."""
    return sum(length > max_length for length in tokens.lengths) / max(1, len(tokens.lengths))


def numbers_of(rows: Sequence[Any], task: TaskRows[Any]) -> list[float]:
    """The numbers that a sample of rows is labelled with; none for a task of labels or answers."""
    return [float(task.answer(row)) for row in sample_rows(rows)] if task.answers_numbers else []


def choose_edges(values: Sequence[float]) -> list[float]:
    """The largest value of each tenth of the values but the last; fewer where tenths end with the same value."""
    ordered = sorted(values)
    edges = [ordered[math.ceil(len(ordered) * tenth / _BINS) - 1] for tenth in range(1, _BINS)] if ordered else []
    return [edge for edge in dict.fromkeys(edges) if edge != ordered[-1]]


def count_bins(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """How many values are in each bin, (edges + 1): up to the first edge, up to the second, ..., above the last."""
    places = np.searchsorted(np.asarray(edges, float), np.asarray(values, float))
    counts: list[int] = np.bincount(places, minlength=len(edges) + 1).tolist()
    return counts


def median_bin(counts: Sequence[int], edges: Sequence[float]) -> str:
    """The bin of the median: `up to 12`, `above 12`, or `equal` where there is one bin."""
    reached = 0
    for place, edge in enumerate(edges):
        reached += counts[place]
        if 2 * reached >= sum(counts):
            return f"up to {edge:g}"
    return f"above {edges[-1]:g}" if edges else "equal"


class WordReference(NamedTuple):
    """The most frequent words of rows.

    Attributes:
        words: their hashes, sorted, as base64 of little-endian integers of 32 bits.
        new: the share of words that further rows of the same source should have and this reference has not: that of
            words which stand in the rows once (Good 1953), or are left out.
    """

    words: str
    new: float

    @classmethod
    def of(cls, hashes: "WordHashes") -> "WordReference":
        """The reference of the words of rows, given their hashes (words,)."""
        words, counts = np.unique(hashes, return_counts=True)
        most = np.argsort(-counts, kind="stable")[:MOST_WORDS]
        kept = np.sort(words[most]).astype("<u4")
        expected = counts[most][counts[most] > 1].sum()
        return cls(base64.b64encode(kept.tobytes()).decode(), float(1 - expected / len(hashes)) if len(hashes) else 0.0)


def decode_words(words: str) -> "WordHashes":
    """The hashes (words,) of a reference."""
    return np.frombuffer(base64.b64decode(words, validate=True), "<u4")


def hash_row_words(rows: Sequence[Any], task: TaskRows[Any]) -> "WordHashes":
    """The hashes (words,) of all words of a sample of rows, see `components.text.near_duplicates.hash_words`."""
    from components.text.near_duplicates import make_shingles

    hashes = [make_shingles(text, 1) for row in sample_rows(rows) for text in task.texts(row)]
    return np.concatenate([np.empty(0, np.uint32), *hashes])
