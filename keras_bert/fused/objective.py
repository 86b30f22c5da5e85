"""The base of objectives that compute a plain one by fused operations."""

import abc
from typing import Any

import keras

from keras_bert.objectives.base import Batch, Objective, Sums


class FusedObjective(abc.ABC):
    """An objective with the results of a plain one, up to rounding, for one model."""

    def __init__(self, plain: Objective, model: keras.Model) -> None:
        self._plain, self._model = plain, model

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weights of the plain objective."""
        return self._plain.weights(batch)

    def identity(self) -> dict[str, Any]:
        """The identity of the plain objective, with the name of this class, as results are rounded otherwise."""
        return {**self._plain.identity(), "class": type(self).__name__}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """The sums of the plain objective.

        Raises:
            ValueError: the model is another one.
        """
        if model is not self._model:
            raise ValueError(f"model must be the one that the objective was made for, {self._model.name!r}")
        return self._sums(batch, training)

    @abc.abstractmethod
    def _sums(self, batch: Batch, training: bool) -> Sums:
        """The sums and weights of all metrics of the plain objective."""
