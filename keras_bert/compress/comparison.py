"""Compares the states of a student with those of its teacher."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from keras_bert.compress.students import spread_layers
from keras_bert.core.checks import check
from keras_bert.layers.dense import Dense
from keras_bert.models.states import AttentionLayout, AttentionReader, attention_layout, hidden_states
from keras_bert.objectives.base import Sums
from keras_bert.objectives.imitation import (
    OUTPUT,
    Attentions,
    Cosine,
    HiddenStates,
    ImitationLoss,
    Relations,
    Similarities,
    State,
    States,
    StateSelection,
    Vectors,
)
from keras_bert.options.compression import OF_EMBEDDINGS, StateImitation


def make_losses(
    settings: StateImitation, student: AttentionLayout, teacher: AttentionLayout, *, embeds: bool
) -> list[ImitationLoss]:
    """The losses whose weight is not 0, in the order of the settings, for two layouts of `attention_layout`.

    `embeds` tells whether the outputs of the models are vectors of texts.
    """
    settings.check_layers(student.layers, teacher.layers)
    settings.check_heads(student.heads, teacher.heads)
    settings.check_widths(student.attention_width, teacher.attention_width, teacher.heads)
    for name, weight in settings.weights.items():
        applies = embeds or name not in OF_EMBEDDINGS
        check("Imitation", name, applies, "be 0 except for embeddings of texts", weight)
    losses = [_make_loss(name, settings, student, teacher) for name in settings.weights]
    for loss in losses:
        for role, needs, states in (("student", loss.student, student), ("teacher", loss.teacher, teacher)):
            missing = sorted(needs.attention_layers.keys() & states.unreadable)
            rule = f"be 0 where the attention of the {role}, {states.attention}, does not return {', '.join(missing)}"
            check("Imitation", loss.name, not missing, rule, getattr(settings, loss.name))
    return losses


def map_layers(settings: StateImitation, student: int, teacher: int) -> tuple[int, ...]:
    """The number of the teacher's block, from 0, for each block of the student."""
    return spread_layers(teacher, student) if settings.layer_map is None else tuple(settings.layer_map)


def _make_loss(
    name: str, settings: StateImitation, student: AttentionLayout, teacher: AttentionLayout
) -> ImitationLoss:
    layers = map_layers(settings, student.layers, teacher.layers) if name in ("hidden_states", "attentions") else ()
    match name:
        case "hidden_states":
            ours, theirs = tuple(range(student.layers + 1)), (0, *(layer + 1 for layer in layers))
            return HiddenStates(StateSelection(states=ours), StateSelection(states=theirs))
        case "attentions":
            ours = tuple(range(student.layers))
            return Attentions(
                StateSelection(attention_layers={"scores": ours}), StateSelection(attention_layers={"scores": layers})
            )
        case "relations":
            kinds = ("query", "key", "value") if settings.relation_kind == "query_key_value" else ("scores", "value")
            last, chosen = student.layers - 1, settings.teacher_layer % teacher.layers
            read, imitated = (
                StateSelection(attention_layers=dict.fromkeys(kinds, (layer,))) for layer in (last, chosen)
            )
            return Relations(read, imitated, settings.relation_heads or teacher.heads)
        case "cosine":
            return Cosine(StateSelection(states=(student.layers,)), StateSelection(states=(teacher.layers,)))
        case _:
            kind = Vectors if name == "vectors" else Similarities
            return kind(StateSelection(states=(OUTPUT,)), StateSelection(states=(OUTPUT,)))


# The name of the student's output in a joint model.
_ANSWERS = "answers"


class Comparison:
    """The losses between the states of two models with one output each.

    `embeds` tells whether the outputs of the models are vectors of texts; the teacher is not trained. The model to
    train, `joint`, is the student with learned matrices that map its states to the teacher's width: checkpoints contain
    these matrices, the student does not.
    """

    def __init__(
        self, student: keras.Model, teacher: keras.Model, imitation: StateImitation, *, embeds: bool = False
    ) -> None:
        self._imitation = imitation
        self._losses = make_losses(imitation, attention_layout(student), attention_layout(teacher), embeds=embeds)
        theirs = {loss.name: _states(teacher, loss.teacher) for loss in self._losses}
        self.joint = _with_states(student, {loss.name: _projected(loss, student, theirs) for loss in self._losses})
        self._student = _Reader(self.joint, {loss.name: loss.student for loss in self._losses})
        self._teacher = _Reader(_with_states(teacher, theirs), {loss.name: loss.teacher for loss in self._losses})

    def weights(self, mask: Any) -> dict[str, Any]:
        """NAME_loss -> the divisor of the loss in a step: its number of tokens, pairs or texts, over its weight."""
        weights = self._imitation.weights
        return {f"{loss.name}_loss": loss.weight(mask) / weights[loss.name] for loss in self._losses}

    def identity(self) -> dict[str, Any]:
        """The settings, and the layers that they choose, as plain values."""
        settings = {f"imitation.{name}": value for name, value in dataclasses.asdict(self._imitation).items()}
        return settings | {f"{loss.name}.layers": dataclasses.asdict(loss) for loss in self._losses}

    def check(self, model: keras.Model) -> None:
        """Raises ValueError unless the model to train is `joint`."""
        if model is not self.joint:
            raise ValueError(f"model must be the objective's joint model, got {model.name!r}")

    def run(self, inputs: Callable[[keras.Model], dict[str, Any]], mask: Any, training: bool) -> tuple[Any, Any, Sums]:
        """Runs both models: the student's outputs, the teacher's, and the sum and weight of each loss, as NAME_loss.

        `inputs` selects the inputs of a model; `mask` is 1 for a token, 0 for padding, float32 (batch, length).
        """
        outputs, ours = self._student.run(inputs(self._student.model), training)
        teacher_outputs, theirs = self._teacher.run(inputs(self._teacher.model), training=False)
        sums: Sums = {}
        for loss in self._losses:
            goal = keras.tree.map_structure(ops.stop_gradient, theirs[loss.name])
            sums[f"{loss.name}_loss"] = loss.distance(ours[loss.name], goal, mask), loss.weight(mask)
        return outputs, teacher_outputs, sums


class _Reader:
    """Runs a model that `_with_states` made, and groups the tensors by the losses that read them."""

    def __init__(self, model: keras.Model, needs: dict[str, StateSelection]) -> None:
        self.model, self._needs = model, needs
        attention_layers: dict[str, list[int]] = {}
        for need in needs.values():
            for kind, layers in need.attention_layers.items():
                attention_layers.setdefault(kind, []).extend(
                    layer for layer in layers if layer not in attention_layers[kind]
                )
        self._attention_layers = attention_layers
        self._reader = AttentionReader(model, attention_layers)

    def run(self, inputs: dict[str, Any], training: bool) -> tuple[Any, dict[str, States]]:
        outputs, states = self._reader.run(inputs, training)
        tensors = {
            (kind, layer): states[kind][place]
            for kind, layers in self._attention_layers.items()
            for place, layer in enumerate(layers)
        }
        return outputs[_ANSWERS], {
            name: States(
                [outputs[_name(name, place)] for place in range(len(need.states))],
                {kind: [tensors[kind, layer] for layer in layers] for kind, layers in need.attention_layers.items()},
            )
            for name, need in self._needs.items()
        }


def _with_states(model: keras.Model, states: dict[str, list[Any]]) -> keras.Model:
    """Returns a model on the same graph with hidden states as further outputs."""
    named = {_name(name, place): state for name, tensors in states.items() for place, state in enumerate(tensors)}
    return keras.Model(model.input, {_ANSWERS: model.output, **named}, name=f"{model.name}_with_states")


def _name(loss: str, place: int) -> str:
    return f"{loss}_{place}"


def _states(model: keras.Model, needs: StateSelection) -> list[Any]:
    states = hidden_states(model) if needs.states else []
    return [model.output if state == OUTPUT else states[int(state)] for state in needs.states]


def _projected(loss: ImitationLoss, student: keras.Model, theirs: dict[str, list[Any]]) -> list[Any]:
    """The student's states, projected to the teacher's width if the loss needs equal widths and they differ."""
    matrices: dict[str, Dense] = {}

    def project(state: State, student_state: Any, teacher_state: Any) -> Any:
        width = teacher_state.shape[-1]
        if not loss.projected or student_state.shape[-1] == width:
            return student_state
        name = loss.projection(state)
        matrices[name] = matrices.get(name) or Dense(width, use_bias=False, name=name)
        return matrices[name](student_state)

    trios: Sequence[Any] = [*zip(loss.student.states, _states(student, loss.student), theirs[loss.name], strict=True)]
    return [project(*trio) for trio in trios]
