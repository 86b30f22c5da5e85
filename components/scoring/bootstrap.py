"""Scores of rows that are drawn with replacement (Efron and Tibshirani 1993, chapters 6 and 13)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from components.dsl.arrays import Array
from components.scoring.base import TaskScoring
from components.scoring.row_statistics import Measure, score_rows

# The probability that an interval holds the score of all texts like the rows.
CONFIDENCE = 0.95
# The number of samples; fewer if each sample is scored row by row. The seed of the sampling.
_SAMPLES, _RESCORED_SAMPLES, _SEED = 2000, 1000, 0
# Rows that are drawn at once.
_DRAWN_AT_ONCE = 1_000_000


class Interval(NamedTuple):
    """The interval of a score, as shares like the metric."""

    low: float
    high: float


def make_measure(
    scoring: TaskScoring[Any], rows: Sequence[Any], answers: Sequence[Any], labels: Sequence[str], metric: str
) -> tuple[Measure, bool]:
    """The function that scores samples of the rows, and whether it is fast: it need not score a sample row by row."""
    measure = scoring.sample_measure(metric, rows, answers, labels)
    if measure is not None:
        return measure, True

    def rescore(counts: Array) -> float:
        drawn = np.repeat(np.arange(len(rows)), counts).tolist()
        try:
            return scoring.score([rows[i] for i in drawn], [answers[i] for i in drawn], labels).metrics[metric]
        except ValueError:
            return float("nan")  # all drawn rows have the same number: nothing correlates with it

    return lambda counts: np.array(list(map(rescore, counts))), False


def draw_interval(measure: Measure, rows: int, *, fast: bool) -> Interval:
    """The percentile interval of a measure; from -1 to 1 where there is too little to draw from.

    `fast` says that the measure need not score a sample row by row.
    """
    if rows < 2:
        return Interval(-1.0, 1.0)
    generator, samples = np.random.default_rng(_SEED), _SAMPLES if fast else _RESCORED_SAMPLES
    at_once = max(1, _DRAWN_AT_ONCE // rows)
    parts = []
    for start in range(0, samples, at_once):
        size = min(at_once, samples - start)
        drawn = generator.integers(0, rows, (size, rows)) + np.arange(size)[:, None] * rows
        parts.append(measure(np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows)))
    scores = np.concatenate(parts)
    scores = scores[~np.isnan(scores)]
    if not len(scores):
        return Interval(-1.0, 1.0)
    low, high = np.quantile(scores, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def score_interval(
    scoring: TaskScoring[Any], rows: Sequence[Any], answers: Sequence[Any], labels: Sequence[str], metric: str
) -> Interval:
    """The interval of one model's score on some rows.

    If all rows are right, or all are wrong, all samples have the same score. The interval is then Clopper and Pearson's
    (1934).
    """
    measure, fast = make_measure(scoring, rows, answers, labels, metric)
    interval = draw_interval(measure, scoring.count_units(rows), fast=fast)
    scores = score_rows(measure) if interval.low == interval.high else None
    if scores is None or not set(scores) <= {0.0, 1.0}:
        return interval
    from scipy import stats

    exact = stats.binomtest(int(sum(scores)), len(scores)).proportion_ci(CONFIDENCE)
    return Interval(float(exact.low), float(exact.high))
