"""Scores on parts of the test rows: by the values of columns, by length, and by the share of unknown tokens."""

import bisect
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.evaluation import SliceScore
from components.dsl.errors import InputError, nearest
from components.scoring.base import TaskScoring
from components.scoring.bootstrap import score_interval
from components.sources.shared import RowOrigin
from keras_bert.core.checks import check

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer

LENGTH, UNKNOWN = "length", "unknown"
# The largest number of tokens of each slice but the last.
_LENGTHS = (8, 16, 32, 64, 128, 256, 512)
# The largest share of unknown tokens of each slice but the last.
_SHARES = (0.0, 0.05, 0.2)
# The values of a slice by length and by unknown tokens, the same for all data, so that settings can name them.
VALUES = {
    LENGTH: ("1-8", *(f"{least + 1}-{most}" for least, most in itertools.pairwise(_LENGTHS)), "513-"),
    UNKNOWN: ("0 %", "0-5 %", "5-20 %", "20-100 %"),
}
# Fewer rows have too wide an interval to be shown.
_FEWEST_ROWS = 10
# A column with more values holds ids or texts.
_MOST_VALUES = 50
# Slices that a report shows.
_MOST_SHOWN = 10
# Texts that are tokenized at once.
_AT_ONCE = 1024


def check_slice_names(columns: Sequence[str], minimums: Collection[str]) -> None:
    """Checks the names of slices with a minimum score; the values of columns are not checked here."""
    for kind in VALUES:
        rule = f"not name {kind!r}, which is a kind of slice itself; rename the column"
        check("Thresholds", "slice_columns", kind not in columns, rule, list(columns))
    for name in minimums:
        kind, equals, value = name.partition("=")
        kinds = (*VALUES, *columns)
        rule = f"be of slices by {', '.join(kinds)}; other columns stand in slice_columns"
        check("Thresholds", "min_slice_scores", kind in kinds, rule, name)
        if equals and kind in VALUES:
            names = ", ".join(f"{kind}={one}" for one in VALUES[kind])
            check("Thresholds", "min_slice_scores", value in VALUES[kind], f"name one of {names}", name)


def column_values(columns: Sequence[str], origins: Sequence[RowOrigin]) -> dict[str, list[str]]:
    """The values of columns that rows keep in their origins, by column; an empty cell becomes `(empty)`."""
    return {column: [origin.columns[column].strip() or "(empty)" for origin in origins] for column in columns}


def check_column_values(column: str, values: Iterable[str], minimums: Collection[str]) -> None:
    """Checks a column whose values are slices."""
    distinct = sorted(set(values))
    if len(distinct) > _MOST_VALUES:
        raise InputError(
            f"slice_columns must name columns of at most {_MOST_VALUES} values, got {column!r} with {len(distinct):,}; "
            "group them in another column"
        )
    for name in minimums:
        kind, equals, value = name.partition("=")
        if kind == column and equals and value not in distinct:
            hint = nearest(value, distinct)
            raise InputError(f"min_slice_scores must be of values that rows have, got {name!r}{hint}")


def score_slices(
    scoring: TaskScoring[Any],
    rows: Sequence[Any],
    answers: Sequence[Any],
    labels: Sequence[str],
    metric: str,
    values: Mapping[str, Sequence[str]],
) -> list[SliceScore]:
    """The score and its interval on each slice, the worst first.

    Slices of fewer than 10 rows are left out. So are slices whose score is undefined: a correlation with a constant, or
    the F1 of rows without any label.

    `values` has the value of each row by the kind of the slice.
    """
    scores, indices_of_value = [], dict[tuple[str, str], list[int]]()
    for kind, row_values in values.items():
        for index, value in enumerate(row_values):
            indices_of_value.setdefault((kind, value), []).append(index)
    for (kind, value), indices in indices_of_value.items():
        if len(indices) < _FEWEST_ROWS:
            continue
        part, part_answers = [rows[index] for index in indices], [answers[index] for index in indices]
        if not scoring.defines(metric, part):
            continue
        try:
            score = scoring.score(part, part_answers, labels).metrics[metric]
        except ValueError:
            continue
        interval = score_interval(scoring, part, part_answers, labels, metric)
        scores.append(SliceScore(kind, value, len(indices), score, *interval))
    return sorted(scores, key=lambda row: (row.score, row.kind, row.value))


def slice_texts(
    tokenizer: "BaseTokenizer", texts: Sequence[str], second_texts: Sequence[str] | None
) -> dict[str, list[str]]:
    """The values of each row by length and by unknown tokens.

    For pairs, and for questions with contexts, the tokens of both texts are counted.
    """
    lengths, unknown = _count_tokens(tokenizer, texts)
    if second_texts is not None:
        second_lengths, second_unknown = _count_tokens(tokenizer, second_texts)
        lengths, unknown = (
            [one + other for one, other in zip(*sides, strict=True)]
            for sides in ((lengths, second_lengths), (unknown, second_unknown))
        )
    shares = (count / max(1, length) for count, length in zip(unknown, lengths, strict=True))
    return {
        LENGTH: [VALUES[LENGTH][bisect.bisect_left(_LENGTHS, length)] for length in lengths],
        UNKNOWN: [VALUES[UNKNOWN][bisect.bisect_left(_SHARES, share)] for share in shares],
    }


def _count_tokens(tokenizer: "BaseTokenizer", texts: Sequence[str]) -> tuple[list[int], list[int]]:
    """The number of tokens of each text, without special tokens, and the number of unknown tokens."""
    lengths, unknown = [], []
    for start in range(0, len(texts), _AT_ONCE):
        for ids in tokenizer.tokenize(list(texts[start : start + _AT_ONCE])).to_list():
            lengths.append(len(ids))
            unknown.append(ids.count(tokenizer.unknown_id))
    return lengths, unknown


def describe_slice(scores: SliceScore) -> str:
    """A slice with its score x 100 and its interval, as `length=1-8 of 40 rows: 71.50 (61.20 to 80.10)`."""
    low, score, high = (100 * value for value in (scores.low, scores.score, scores.high))
    return f"{scores.name} of {scores.rows} rows: {score:.2f} ({low:.2f} to {high:.2f})"


def worst_slices(scores: Sequence[SliceScore], total: int) -> list[SliceScore]:
    """The worst slices, without slices that contain all rows."""
    return [score for score in scores if score.rows < total][:_MOST_SHOWN]


def judge_slices(scores: Sequence[SliceScore], minimums: Mapping[str, float]) -> Iterator[tuple[bool, str]]:
    """Whether each slice with a minimum reaches it or misses it only by chance; and the comparison as text.

    `minimums` are points by `NAME=VALUE`, or by `NAME` for all values.
    """
    for name, minimum in minimums.items():
        slices = [score for score in scores if name in (score.kind, score.name)]
        for score in slices:
            rule = f"must not be significantly below evaluation.min_slice_scores {minimum:g} of {name!r}"
            yield 100 * score.high >= minimum, f"slice {describe_slice(score)} {rule}"
        if not slices:
            yield True, f"evaluation.min_slice_scores of {name!r} had no slice of {_FEWEST_ROWS} test rows to decide on"
