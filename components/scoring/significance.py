"""Tests whether two models differ on the same rows by more than chance."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from components.dsl.arrays import Array
from components.scoring.base import TaskScoring
from components.scoring.bootstrap import CONFIDENCE, Interval, draw_interval, make_measure
from components.scoring.row_statistics import score_rows


class PairedDifference(NamedTuple):
    """The difference of two models' scores on the same rows, as shares like the metric.

    Attributes:
        difference: the score of the first model minus the score of the second.
        p_value: the p of McNemar's exact test, 0 to 1; None where rows are not simply right or wrong, or where several
            seeds are averaged.
    """

    difference: float
    interval: Interval
    p_value: float | None = None

    def is_loss_beyond(self, allowed: float) -> bool:
        """Whether the first model loses significantly more than a share, beyond both tests."""
        # A hair of tolerance: shares of counts do not subtract exactly.
        return self.interval.high < -allowed - 1e-12 and not self._is_by_chance

    @property
    def is_gain(self) -> bool:
        """Whether the first model is significantly better, by both tests."""
        return self.interval.low > 1e-12 and not self._is_by_chance

    @property
    def _is_by_chance(self) -> bool:
        return self.p_value is not None and self.p_value >= 1 - CONFIDENCE

    def __str__(self) -> str:
        low, high = (100 * end for end in self.interval)
        mcnemar = "" if self.p_value is None else f", McNemar's p {self.p_value:.2g}"
        interval = f"{100 * CONFIDENCE:.0f} % interval {low:+.2f} to {high:+.2f}"
        return f"difference {100 * self.difference:+.2f}, {interval}{mcnemar}"


def compare_models(
    scoring: TaskScoring[Any],
    rows: Sequence[Any],
    first: Sequence[Sequence[Any]],
    second: Sequence[Sequence[Any]],
    labels: Sequence[str],
    metric: str,
) -> PairedDifference:
    """The difference of two models' scores, with a paired bootstrap (Efron and Tibshirani 1993) and McNemar's test.

    The bootstrap draws the same rows for both models: rows that both answer alike add nothing to the interval. Where
    rows are right or wrong, McNemar's exact test (1947) looks at those that one model alone has right: of few such rows
    the bootstrap is too sure.

    `first` and `second` are the answers of a model, one sequence a seed; the score is the mean over the seeds.
    """
    sides = [[make_measure(scoring, rows, answers, labels, metric) for answers in model] for model in (first, second)]

    def measure(counts: Array) -> Array:
        one, other = (np.mean([score(counts) for score, _ in side], axis=0) for side in sides)
        return one - other

    units = scoring.count_units(rows)
    difference = float(measure(np.ones((1, units), int))[0])
    interval = draw_interval(measure, units, fast=all(is_fast for side in sides for _, is_fast in side))
    one, other = (score_rows(side[0][0]) if len(side) == 1 else None for side in sides)
    if one is None or other is None or not {*one, *other} <= {0.0, 1.0}:
        return PairedDifference(difference, interval)
    pairs = list(zip(one, other, strict=True))
    return PairedDifference(difference, interval, mcnemar_p_value(pairs.count((1.0, 0.0)), pairs.count((0.0, 1.0))))


def mcnemar_p_value(first_alone: int, second_alone: int) -> float:
    """The two-sided p-value of McNemar's exact test: 1 where no row tells the models apart.

    It depends on the numbers of rows that only one of the models has right.
    """
    from scipy import stats

    count = first_alone + second_alone
    return float(stats.binomtest(first_alone, count, 0.5).pvalue) if count else 1.0
