"""Properties of labelled rows that a job's settings depend on: lengths, labels, repeated and contradictory rows."""

import functools
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.examples.base import TaskRows
from components.examples.splits import fold_key
from components.sources.shared import draw_rows

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

# Quantiles of lengths, in percent.
PERCENTILES = (50, 90, 98, 100)
# Lengths and scripts are measured on a sample of at most this many rows.
_SAMPLE = 10_000

# First words of Unicode character names that are not the name of a script.
_NAMES = {"CJK": "Han", "IDEOGRAPHIC": "Han", "HALFWIDTH": "Katakana", "FULLWIDTH": "Latin"}


class RowTraits(NamedTuple):
    """Properties of rows.

    Attributes:
        labels: how often each label occurs, the most frequent first; empty for tasks without labels.
        repeats: number of rows whose texts equal those of an earlier row, see `keras_bert.core.folding.fold`.
        conflicts: texts with different answers, each with its answers.
        scripts: share of the letters in each script, see `count_scripts`.
    """

    rows: int
    labels: dict[str, int]
    repeats: int
    conflicts: list[tuple[str, list[str]]]
    scripts: dict[str, float]
    words: list[int]


class TokenTraits(NamedTuple):
    """Properties of rows that depend on a vocabulary.

    Attributes:
        lengths: the number of tokens of each row in a sample, special tokens included, before truncation.
        first_lengths: the number of tokens of each first text, such as a question, without special tokens.
        counts: token id -> number of occurrences, without special tokens.
    """

    lengths: list[int]
    first_lengths: list[int]
    unknown: float
    counts: Counter[int]


def measure_rows(rows: Sequence[Any], task: TaskRows[Any]) -> RowTraits:
    """Measures the rows that the source of a task has read."""
    answers: dict[str, dict[str, None]] = defaultdict(dict)
    texts_of_key: dict[str, str] = {}
    for row in rows:
        key = fold_key(task.texts(row))
        texts_of_key.setdefault(key, " | ".join(task.texts(row)))
        answers[key][task.answer(row)] = None
    from components.text.near_duplicates import hash_words

    conflicts = [(texts_of_key[key], list(different)) for key, different in answers.items() if len(different) > 1]
    texts = [task.texts(row) for row in sample_rows(rows)]
    return RowTraits(
        len(rows),
        dict((task.count_labels(rows) or Counter()).most_common()),
        len(rows) - len(answers),
        conflicts,
        count_scripts(text for row in texts for text in row),
        [sum(len(hash_words(text)) for text in row) for row in texts],
    )


def measure_tokens(rows: Sequence[Any], task: TaskRows[Any], tokenizer: "BaseTokenizer") -> TokenTraits:
    """Measures the tokens of rows; if a model encodes the texts of a row separately, the longer text counts.

    The tokenizer is an eager one, see `keras_bert.tokenizers.loading.load_eager_tokenizer`.
    """
    sides = [list(side) for side in zip(*(task.texts(row) for row in sample_rows(rows)), strict=True)]
    tokens = [tokenizer.tokenize(side) for side in sides]
    counts = [side.row_lengths() for side in tokens]
    texts = 1 if task.encodes_separately else len(sides)
    whole = np.maximum.reduce(counts) if task.encodes_separately else np.add.reduce(counts)
    ids = np.concatenate([side.flat_values for side in tokens])
    unknown = float((ids == tokenizer.unknown_id).mean()) if len(ids) else 0.0
    lengths = (whole + tokenizer.special_count(texts)).tolist()
    return TokenTraits(lengths, counts[0].tolist(), unknown, Counter(ids.tolist()))


def sample_rows(rows: Sequence[Any]) -> Sequence[Any]:
    """At most 10,000 rows, see `draw_rows`."""
    return [rows[row] for row in draw_rows(len(rows), _SAMPLE)]


def percentile(values: Sequence[int], percent: int) -> int:
    """The percentile of values by the nearest-rank method."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def count_scripts(texts: Iterable[str]) -> dict[str, float]:
    """Returns the share of letters in each script, largest first; empty for texts without letters.

    The script of a letter is the first word of its Unicode name, such as `LATIN SMALL LETTER A`. Python does not have
    Unicode's property Script, which differs for few letters.
    """
    characters: Counter[str] = Counter()
    for text in texts:
        characters.update(text)
    scripts: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            scripts[_script(character)] += count
    letters = scripts.total()
    return {script: count / letters for script, count in scripts.most_common()}


@functools.cache
def _script(character: str) -> str:
    word = unicodedata.name(character, "UNKNOWN").split(maxsplit=1)[0].partition("-")[0]
    return _NAMES.get(word, word.capitalize())
