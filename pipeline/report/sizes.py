"""Reads size, latency and score of the models of an evaluation."""

from typing import NamedTuple

from components.artifacts.evaluation import Metrics


class ModelPoint(NamedTuple):
    """A model: `score` and its standard deviation `sd` over seeds are times 100, milliseconds are for one row."""

    name: str
    megabytes: float
    milliseconds: float
    score: float
    sd: float | None
    is_shipped: bool


def read_model_sizes(metrics: Metrics) -> list[ModelPoint]:
    """The models with a known size, in the order of the table."""
    points = []
    for name, model in metrics.models.items():
        if model.megabytes is not None and model.milliseconds is not None:
            score = model.metrics[metrics.metric]
            sd = None if score.sd is None else 100 * score.sd
            point = ModelPoint(name, model.megabytes, model.milliseconds, 100 * score.mean, sd, name == metrics.shipped)
            points.append(point)
    return points
