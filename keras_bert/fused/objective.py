"""What objectives have in common that stand for a plain one and work otherwise."""

import abc
from typing import Any

import keras

from keras_bert.objectives.base import Batch, Objective, Sums


class FusedObjective(abc.ABC):
    """An objective that gives what a plain one gives, up to rounding, for the one model that it was made for.

    Args:
        plain: what it stands for.
        model: what it is called with.
    """

    def __init__(self, plain: Objective, model: keras.Model) -> None:
        self._plain, self._model = plain, model

    def weights(self, batch: Batch) -> dict[str, Any]:
        """As the plain objective's."""
        return self._plain.weights(batch)

    def identity(self) -> dict[str, Any]:
        """As the plain objective's, but for the class: it rounds otherwise than what it stands for."""
        return {**self._plain.identity(), "class": type(self).__name__}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """As the plain objective.

        Raises:
            ValueError: it is another model.
        """
        if model is not self._model:
            raise ValueError(f"model must be the one that the objective was made for, {self._model.name!r}")
        return self._sums(batch, training)

    @abc.abstractmethod
    def _sums(self, batch: Batch, training: bool) -> Sums:
        """Sums and weights of all that the plain objective measures."""
