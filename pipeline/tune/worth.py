"""What the trials say of each setting: their scores, apart for its values or thirds of its range."""

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from pipeline.tune.space import Dimension
from pipeline.tune.study import Trial

_PARTS = 3


class Level(NamedTuple):
    """The trials with one value of a setting, or with a value in one part of its range.

    Attributes:
        low: the value, or the least of the part.
        high: the value, or the largest of the part.
        trials: the number of whole trials.
        pruned: the number of trials that were pruned or rejected.
        mean: the mean score of the whole trials; None without any.
        best: their best score; None likewise.
    """

    low: Any
    high: Any
    trials: int
    pruned: int
    mean: float | None
    best: float | None


def find_levels(dimension: Dimension, trials: Sequence[Trial]) -> list[Level]:
    """The levels of a setting with their trials, from the least value on."""
    is_list = dimension.scale == "choices"
    ends = [(value, value) for value in sorted(dimension.values)] if is_list else _parts(dimension)
    # A value on the border of two parts belongs to the lower one.
    levels, rest = [], list(trials)
    for low, high in ends:
        part = [trial for trial in rest if low <= trial.values[dimension.name] <= high]
        rest = [trial for trial in rest if trial not in part]
        scores = [trial.score for trial in part if trial.score is not None]
        mean, best = (statistics.fmean(scores), max(scores)) if scores else (None, None)
        levels.append(Level(low, high, len(scores), len(part) - len(scores), mean, best))
    return levels


def _parts(dimension: Dimension) -> list[tuple[float, float]]:
    low, high = dimension.values
    if dimension.scale == "logarithmic":
        borders = [low * math.exp(math.log(high / low) * part / _PARTS) for part in range(_PARTS + 1)]
    else:
        borders = [low + (high - low) * part / _PARTS for part in range(_PARTS + 1)]
    inner = [dimension.round(round(border) if dimension.is_whole else border) for border in borders[1:-1]]
    borders = list(dict.fromkeys([low, *inner, high]))
    return list(itertools.pairwise(borders))
