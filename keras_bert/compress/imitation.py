"""Distillation of what stands between inputs and answers: states, attentions, relations, vectors."""

import copy
from typing import Any, Self

import keras
from keras import ops

from keras_bert.compress.comparison import Comparison
from keras_bert.digests import digest_weights
from keras_bert.objectives.base import Batch, Sums, TaskObjective
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.objectives.embedding import EmbeddingObjective
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation, StateImitation


class ImitationObjective:
    """What `DistillationObjective` minimizes, and how far the student is from the teacher in what `Imitation` weighs.

    Args:
        objective: of the task.
        student: from the task's inputs to one output, as `Task.network` gives it.
        teacher: likewise; it is not trained.
        distillation: of the answers.
        imitation: of all else.

    Attributes:
        joint: the model to train, see `Comparison`. It is what the objective is called with.

    Raises:
        ValueError: the settings do not go with the models; names field, rule and value.
    """

    def __init__(
        self,
        objective: TaskObjective,
        student: keras.Model,
        teacher: keras.Model,
        distillation: Distillation,
        imitation: Imitation,
    ) -> None:
        self._task, self._answers = objective, True
        self._plain = DistillationObjective(objective, teacher, distillation)
        self._comparison = Comparison(student, teacher, imitation, embeds=isinstance(objective, EmbeddingObjective))
        self.joint = self._comparison.joint

    def without_answers(self) -> Self:
        """The same with the same joint model, but that answers are measured and do not count."""
        other = copy.copy(self)
        other._answers = False
        return other

    def weights(self, batch: Batch) -> dict[str, Any]:
        """Those of the task's loss, unless answers do not count, and of each loss, divided by what it counts for."""
        weights = self._comparison.weights(self._mask(batch))
        return {**self._plain.weights(batch), **weights} if self._answers else weights

    def identity(self) -> dict[str, Any]:
        """As `DistillationObjective.identity`, with the settings and the layers that they mean."""
        identity = {"class": type(self).__name__, "answers": self._answers}
        return {**self._plain.identity(), **identity, **self._comparison.identity()}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """As `DistillationObjective`, and of each further loss its sum and weight, as NAME_loss.

        Args:
            model: `joint`.
            batch: the student's inputs and the task's labels.
            training: whether the student's dropout is on.

        Raises:
            ValueError: it is another model.
        """
        self._comparison.check(model)
        outputs, teacher_outputs, sums = self._comparison.run(
            lambda model: self._task.inputs(model, batch), self._mask(batch), training
        )
        return self._plain.measure(self._task.answers(outputs), self._task.answers(teacher_outputs), batch) | sums

    def _mask(self, batch: Batch) -> Any:
        """(texts, length), of both texts of pairs of embeddings."""
        return ops.cast(self._task.inputs(self.joint, batch)["padding_mask"], "float32")


class StatesObjective:
    """How far a student's states are from a teacher's, on any text (Jiao et al. 2020, section 3.2): without answers.

    Args:
        student: an encoder with one output.
        teacher: likewise; it is not trained.
        imitation: what is compared, and its weights.

    Attributes:
        joint: the model to train, see `Comparison`. It is what the objective is called with.

    Raises:
        ValueError: the settings do not go with the models, or weigh nothing; names field, rule and value.
    """

    def __init__(self, student: keras.Model, teacher: keras.Model, imitation: StateImitation) -> None:
        imitation.check_on()
        self._teacher, self._comparison = teacher, Comparison(student, teacher, imitation)
        self.joint = self._comparison.joint

    def weights(self, batch: Batch) -> dict[str, Any]:
        """Those of each loss, divided by what it counts for."""
        return self._comparison.weights(_tokens(batch))

    def identity(self) -> dict[str, Any]:
        """The settings, the layers that they mean, and the digest of the teacher's weights."""
        identity = {"class": type(self).__name__, "teacher": digest_weights(self._teacher)}
        return {**identity, **self._comparison.identity()}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Of each loss its sum and weight, as NAME_loss.

        Args:
            model: `joint`.
            batch: the encoder's inputs.
            training: whether the student's dropout is on.

        Raises:
            ValueError: it is another model.
        """
        self._comparison.check(model)

        def inputs(model: keras.Model) -> dict[str, Any]:
            return {spec.name: batch[spec.name] for spec in model.inputs}

        return self._comparison.run(inputs, _tokens(batch), training)[2]


def _tokens(batch: Batch) -> Any:
    return ops.cast(batch["padding_mask"], "float32")
