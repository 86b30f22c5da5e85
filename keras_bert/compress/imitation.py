"""Distillation of the tensors between inputs and answers: states, attentions, relations, vectors."""

import copy
from typing import Any, Self

import keras
from keras import ops

from keras_bert.compress.comparison import Comparison
from keras_bert.core.checks import check
from keras_bert.core.digests import digest_weights
from keras_bert.objectives.base import Batch, Sums, TaskObjective
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.objectives.retrieval import RetrievalObjective
from keras_bert.objectives.tasks import EmbeddingObjective
from keras_bert.objectives.vectors import VectorObjective
from keras_bert.options.compression import Distillation, Imitation, StateImitation


class ImitationObjective:
    """The loss of `DistillationObjective`, plus the losses between a student's and a teacher's states.

    Student and teacher are models from the task's inputs to one output, see `Task.network`; the teacher is not trained.
    With `has_answers`, batches hold the answers that the student learns, as `teacher_answers`. The model to train, with
    which the objective is called, is `joint`, see `Comparison`.
    """

    def __init__(
        self,
        objective: TaskObjective,
        student: keras.Model,
        teacher: keras.Model,
        distillation: Distillation,
        imitation: Imitation,
        *,
        has_answers: bool = False,
    ) -> None:
        crosses = isinstance(objective, RetrievalObjective) and objective.crosses_micro_batches
        rule = "be false where states, vectors or similarities are imitated, as these are compared part by part"
        check("Contrast", "across_micro_batches", not crosses, rule, crosses)
        self._task, self._answers = objective, True
        self._teacher = teacher
        self._plain = DistillationObjective(objective, None if has_answers else teacher, distillation)
        embeds = isinstance(objective, EmbeddingObjective | RetrievalObjective | VectorObjective)
        self._comparison = Comparison(student, teacher, imitation, embeds=embeds)
        self.joint = self._comparison.joint

    def without_answers(self) -> Self:
        """The objective with the same joint model in which the loss of the answers is measured, but not minimized."""
        other = copy.copy(self)
        other._answers = False
        return other

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of the task's loss, unless answers do not count, and the weights of the losses between states."""
        weights = self._comparison.weights(self._mask(batch))
        return {**self._plain.weights(batch), **weights} if self._answers else weights

    def identity(self) -> dict[str, Any]:
        """`DistillationObjective.identity`, the settings, and the layers that they choose."""
        identity = {"class": type(self).__name__, "answers": self._answers}
        states = digest_weights(self._teacher)
        return {**self._plain.identity(), "states_of": states, **identity, **self._comparison.identity()}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """The sums of `DistillationObjective`, and the sum and weight of each further loss, as NAME_loss."""
        self._comparison.check(model)
        outputs, teacher_outputs, sums = self._comparison.run(
            lambda model: self._task.inputs(model, batch), self._mask(batch), training
        )
        target = self._task.answers(teacher_outputs) if self._plain.has_teacher else self._plain.find_target(batch)
        return self._plain.measure(self._task.answers(outputs), target, batch) | sums

    def _mask(self, batch: Batch) -> Any:
        """The padding mask (texts, length), with both texts of each pair of embeddings."""
        return ops.cast(self._task.inputs(self.joint, batch)["padding_mask"], "float32")


class StatesObjective:
    """The losses between a student's and a teacher's states on texts without labels (Jiao et al. 2020, section 3.2).

    Both are encoders with one output; the teacher is not trained. The model to train is `joint`, see `Comparison`.
    """

    def __init__(self, student: keras.Model, teacher: keras.Model, imitation: StateImitation) -> None:
        imitation.check_on()
        self._teacher, self._comparison = teacher, Comparison(student, teacher, imitation)
        self.joint = self._comparison.joint

    def weights(self, batch: Batch) -> dict[str, Any]:
        """See `Comparison.weights`."""
        return self._comparison.weights(_tokens(batch))

    def identity(self) -> dict[str, Any]:
        """The settings, the layers that they choose, and the digest of the teacher's weights."""
        identity = {"class": type(self).__name__, "teacher": digest_weights(self._teacher)}
        return {**identity, **self._comparison.identity()}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """The sum and weight of each loss, as NAME_loss."""
        self._comparison.check(model)

        def inputs(model: keras.Model) -> dict[str, Any]:
            return {spec.name: batch[spec.name] for spec in model.inputs}

        return self._comparison.run(inputs, _tokens(batch), training)[2]


def _tokens(batch: Batch) -> Any:
    return ops.cast(batch["padding_mask"], "float32")
