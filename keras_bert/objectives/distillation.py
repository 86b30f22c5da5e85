"""Distillation: a smaller student learns from a teacher (Hinton et al. 2015)."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert.core.digests import digest_weights
from keras_bert.core.losses import weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Batch, Sums, TaskObjective
from keras_bert.objectives.retrieval import RetrievalObjective
from keras_bert.options.compression import Distillation


class DistillationObjective:
    """A student's objective: its distance from the teacher, and its loss on the true labels.

    The teacher has the same inputs and the same kind of outputs, and is not trained; it is None where batches hold its
    outputs, as `teacher_answers`.
    """

    def __init__(self, objective: TaskObjective, teacher: keras.Model | None, distillation: Distillation) -> None:
        self._objective, self._teacher, self._distillation = objective, teacher, distillation

    @property
    def has_teacher(self) -> bool:
        """Whether a teacher runs, as batches do not hold its outputs."""
        return self._teacher is not None

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`, the task's loss."""
        return self._objective.weights(batch)

    def identity(self) -> dict[str, Any]:
        """The task's objective, the settings, and the digest of the teacher's weights; None where rows hold outputs."""
        task = {f"task.{name}": value for name, value in self._objective.identity().items()}
        settings = dataclasses.asdict(self._distillation)
        digest = None if self._teacher is None else digest_weights(self._teacher)
        return {"class": type(self).__name__, **task, **settings, "teacher": digest}

    @property
    def crosses_micro_batches(self) -> bool:
        """See `keras_bert.training.gradient_cache.CrossMicroBatchObjective`; False for tasks that compare no rows."""
        return bool(getattr(self._objective, "crosses_micro_batches", False))

    def run(self, model: keras.Model, batch: Batch, training: bool) -> Any:
        """The student's outputs, see `TaskObjective.run`."""
        return self._objective.run(model, batch, training)

    def find_target(self, batch: Batch) -> Any:
        """The teacher's outputs."""
        if self._teacher is None:
            return batch["teacher_answers"]
        return self._objective.run(self._teacher, batch, training=False)

    def select_labels(self, batch: Batch) -> dict[str, Any]:
        """Those of the task's objective."""
        return self._crossing().select_labels(batch)

    def join_micro_batches(self, outputs: Sequence[Tensor], labels: Sequence[Batch]) -> tuple[Tensor, dict[str, Any]]:
        """As the task's objective."""
        return self._crossing().join_micro_batches(outputs, labels)

    def measure_joined(self, outputs: Tensor, target: Any, labels: Batch) -> Sums:
        """`measure`."""
        return self.measure(outputs, target, labels)

    def _crossing(self) -> RetrievalObjective:
        assert isinstance(self._objective, RetrievalObjective)
        return self._objective

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of the task's metrics and `teacher_distance`; `loss` is the weighted sum of both."""
        return self.measure(self.run(model, batch, training), self.find_target(batch), batch)

    def measure(self, outputs: Tensor, target: Any, batch: Batch) -> Sums:
        """The same sums and weights from the outputs of `TaskObjective.run` for the student and for the teacher.

        A batch may have `has_label` and `has_answers` (batch,), 1 or 0: the loss of a row without one is its distance
        from the teacher, that of a row without the other its loss on the label; every row has at least one.
        """
        task, target = self._objective, ops.stop_gradient(target)
        weights, losses = task.loss_weights(batch), task.losses(outputs, batch)
        distances = task.distances(outputs, target, batch, self._distillation.temperature)
        hard: Any = self._distillation.hard_weight if task.has_labels else 0.0
        answered = weights
        if "has_label" in batch:
            hard = hard * task.spread_rows(ops.cast(batch["has_label"], "float32"), batch)
        # A teacher that runs answers all rows.
        if "has_answers" in batch and self._teacher is None:
            has_answers = task.spread_rows(ops.cast(batch["has_answers"], "float32"), batch)
            hard, answered = 1 + has_answers * (hard - 1), weights * has_answers
        return {
            "loss": weighted_sums(hard * losses + (1 - hard) * distances, weights),
            **task.scores(outputs, batch),
            "teacher_distance": weighted_sums(distances, answered),
        }
