"""Standard error of the difference of two models on the same rows."""

from collections.abc import Sequence
from typing import Any

from components.scoring.base import TaskScoring

# Number of bootstrap samples of the rows, and their seed.
_SAMPLES, _SEED = 100, 0


def standard_error(
    scoring: TaskScoring[Any],
    rows: Sequence[Any],
    first: Sequence[Sequence[Any]],
    second: Sequence[Sequence[Any]],
    labels: Sequence[str],
    metric: str,
) -> float:
    """The standard error of the difference of two models' scores, as a share like the metric.

    Both answer the same rows. Where a row has a score of its own the differences of these are paired; of other metrics
    the rows are drawn again and again with replacement, the same ones for both (Efron and Tibshirani 1993, chapter 6).

    Args:
        scoring: of the task.
        rows: of a split.
        first: answers of a model to the rows, one sequence a seed; the score is the mean over the seeds.
        second: those of the other model.
        labels: of the task.
        metric: of the task's scores.
    """
    import numpy as np

    scores = [[scoring.row_scores(metric, rows, answers) for answers in model] for model in (first, second)]
    if all(values is not None for model in scores for values in model):
        one, other = (np.mean(np.asarray(model, "float64"), axis=0) for model in scores)
        return float(np.std(one - other, ddof=1) / len(rows) ** 0.5) if len(rows) > 1 else 0.0
    chance, differences = np.random.default_rng(_SEED), []
    for _ in range(_SAMPLES):
        places = chance.integers(0, len(rows), len(rows))
        drawn = [rows[place] for place in places]
        try:
            one, other = (
                np.mean(
                    [scoring.score(drawn, [answers[i] for i in places], labels).metrics[metric] for answers in model]
                )
                for model in (first, second)
            )
        except ValueError:
            continue  # all drawn rows have the same number: nothing correlates with it
        differences.append(one - other)
    return float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
