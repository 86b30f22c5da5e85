"""Distillation of what stands between inputs and answers: states, attentions, relations, vectors."""

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import keras
from keras import ops

from keras_bert.compress.imitations import make_losses
from keras_bert.layers.dense import Dense
from keras_bert.models.states import AttentionReader, anatomy, hidden_states
from keras_bert.objectives.base import Batch, Sums, TaskObjective
from keras_bert.objectives.distillation import DistillationObjective
from keras_bert.objectives.embedding import EmbeddingObjective
from keras_bert.objectives.imitation.base import OUTPUT, ImitationLoss, Needs, Read, State
from keras_bert.options.distillation import Distillation
from keras_bert.options.imitation import Imitation

# Of a joint model: what the student answers.
_ANSWERS = "answers"


class ImitationObjective:
    """What `DistillationObjective` minimizes, and how far the student is from the teacher in what `Imitation` weighs.

    Args:
        objective: of the task.
        student: from the task's inputs to one output, as `Task.network` gives it.
        teacher: likewise; it is not trained.
        distillation: of the answers.
        imitation: of all else.

    Attributes:
        joint: the model to train: the student, and the learned matrices between its states and wider or narrower ones
            of the teacher. These are trained and stand in checkpoints, and nothing of them is kept in the student. It
            is what the objective is called with.

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
        self._task, self._imitation, self._answers = objective, imitation, True
        self._plain = DistillationObjective(objective, teacher, distillation)
        embeds = isinstance(objective, EmbeddingObjective)
        self._losses = make_losses(imitation, anatomy(student), anatomy(teacher), embeds=embeds)
        theirs = {loss.name: _states(teacher, loss.teacher) for loss in self._losses}
        self.joint = _with_states(student, {loss.name: _projected(loss, student, theirs) for loss in self._losses})
        self._student = _Reader(self.joint, {loss.name: loss.student for loss in self._losses})
        self._teacher = _Reader(_with_states(teacher, theirs), {loss.name: loss.teacher for loss in self._losses})

    def without_answers(self) -> Self:
        """The same with the same joint model, but that answers are measured and do not count."""
        other = copy.copy(self)
        other._answers = False
        return other

    def weights(self, batch: Batch) -> dict[str, Any]:
        """Those of the task's loss, unless answers do not count, and of each loss, divided by what it counts for."""
        mask = self._mask(batch)
        own = {f"{loss.name}_loss": loss.weight(mask) / getattr(self._imitation, loss.name) for loss in self._losses}
        return {**self._plain.weights(batch), **own} if self._answers else own

    def identity(self) -> dict[str, Any]:
        """As `DistillationObjective.identity`, with the settings and the layers that they mean."""
        settings = {f"imitation.{name}": value for name, value in dataclasses.asdict(self._imitation).items()}
        layers = {f"{loss.name}.layers": dataclasses.asdict(loss) for loss in self._losses}
        own = {"class": type(self).__name__, "answers": self._answers}
        return {**self._plain.identity(), **own, **settings, **layers}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """As `DistillationObjective`, and of each further loss its sum and weight, as NAME_loss.

        Args:
            model: `joint`.
            batch: the student's inputs and the task's labels.
            training: whether the student's dropout is on.

        Raises:
            ValueError: it is another model.
        """
        if model is not self.joint:
            raise ValueError(f"model must be the objective's own joint model, got {model.name!r}")
        outputs, ours = self._student.run(self._task.inputs(self._student.model, batch), training)
        wanted, theirs = self._teacher.run(self._task.inputs(self._teacher.model, batch), training=False)
        sums = self._plain.measure(self._task.answers(outputs), self._task.answers(wanted), batch)
        mask = self._mask(batch)
        for loss in self._losses:
            goal = keras.tree.map_structure(ops.stop_gradient, theirs[loss.name])
            sums[f"{loss.name}_loss"] = loss.distance(ours[loss.name], goal, mask), loss.weight(mask)
        return sums

    def _mask(self, batch: Batch) -> Any:
        """(texts, length), of both texts of pairs of embeddings."""
        return ops.cast(self._task.inputs(self.joint, batch)["padding_mask"], "float32")


class _Reader:
    """Runs a model of `_with_states` and sorts what is read by who asked for it."""

    def __init__(self, model: keras.Model, needs: dict[str, Needs]) -> None:
        self.model, self._needs = model, needs
        attended: dict[str, list[int]] = {}
        for need in needs.values():
            for kind, layers in need.attended.items():
                attended.setdefault(kind, []).extend(layer for layer in layers if layer not in attended[kind])
        self._attended = attended
        self._reader = AttentionReader(model, attended)

    def run(self, inputs: dict[str, Any], training: bool) -> tuple[Any, dict[str, Read]]:
        outputs, found = self._reader.run(inputs, training)
        tensors = {
            (kind, layer): found[kind][place]
            for kind, layers in self._attended.items()
            for place, layer in enumerate(layers)
        }
        return outputs[_ANSWERS], {
            name: Read(
                [outputs[_name(name, place)] for place in range(len(need.states))],
                {kind: [tensors[kind, layer] for layer in layers] for kind, layers in need.attended.items()},
            )
            for name, need in self._needs.items()
        }


def _with_states(model: keras.Model, states: dict[str, list[Any]]) -> keras.Model:
    """The same graph with further outputs."""
    named = {_name(name, place): found for name, each in states.items() for place, found in enumerate(each)}
    return keras.Model(model.input, {_ANSWERS: model.output, **named}, name=f"{model.name}_with_states")


def _name(loss: str, place: int) -> str:
    return f"{loss}_{place}"


def _states(model: keras.Model, needs: Needs) -> list[Any]:
    found = hidden_states(model) if needs.states else []
    return [model.output if state == OUTPUT else found[int(state)] for state in needs.states]


def _projected(loss: ImitationLoss, student: keras.Model, theirs: dict[str, list[Any]]) -> list[Any]:
    """The student's states, through a matrix where the teacher's have another width and the loss wants equal ones."""
    matrices: dict[str, Dense] = {}

    def project(state: State, own: Any, wanted: Any) -> Any:
        width = wanted.shape[-1]
        if not loss.projected or own.shape[-1] == width:
            return own
        name = loss.projection(state)
        matrices[name] = matrices.get(name) or Dense(width, use_bias=False, name=name)
        return matrices[name](own)

    trios: Sequence[Any] = [*zip(loss.student.states, _states(student, loss.student), theirs[loss.name], strict=True)]
    return [project(*trio) for trio in trios]
