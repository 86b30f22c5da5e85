"""Makes the losses between a student and a teacher from their settings."""

from collections.abc import Callable
from typing import Any

from keras_bert.compress.students import spread_layers
from keras_bert.core.checks import check
from keras_bert.models.states import AttentionLayout
from keras_bert.objectives.imitation import (
    OUTPUT,
    Attentions,
    Cosine,
    HiddenStates,
    ImitationLoss,
    Needs,
    Relations,
    Similarities,
    Vectors,
)
from keras_bert.options.compression import OF_EMBEDDINGS, StateImitation


def make_losses(
    settings: StateImitation, student: AttentionLayout, teacher: AttentionLayout, *, embeds: bool
) -> list[ImitationLoss]:
    """The losses whose weight is not 0, in the order of the settings, for two layouts of `attention_layout`.

    `embeds` tells whether the outputs of the models are vectors of texts.

    Raises:
        FieldError: the settings do not fit the models.
    """
    settings.check_layers(student.layers, teacher.layers)
    settings.check_heads(student.heads, teacher.heads)
    settings.check_widths(student.attention_width, teacher.attention_width, teacher.heads)
    for name, weight in settings.weights.items():
        applies = embeds or name not in OF_EMBEDDINGS
        check("Imitation", name, applies, "be 0 but for embeddings of texts", weight)
    losses = [_LOSSES[name](settings, student, teacher) for name in settings.weights]
    for loss in losses:
        for role, needs, states in (("student", loss.student, student), ("teacher", loss.teacher, teacher)):
            missing = sorted(needs.attended.keys() & states.unreadable)
            rule = f"be 0 where the attention of the {role}, {states.attention}, does not return {', '.join(missing)}"
            check("Imitation", loss.name, not missing, rule, getattr(settings, loss.name))
    return losses


def map_layers(settings: StateImitation, student: int, teacher: int) -> tuple[int, ...]:
    """The number of the teacher's block, from 0, for each block of the student."""
    return spread_layers(teacher, student) if settings.layer_map is None else tuple(settings.layer_map)


def _hidden_states(settings: StateImitation, student: AttentionLayout, teacher: AttentionLayout) -> ImitationLoss:
    layers = map_layers(settings, student.layers, teacher.layers)
    return HiddenStates(
        Needs(states=tuple(range(student.layers + 1))), Needs(states=(0, *(layer + 1 for layer in layers)))
    )


def _attentions(settings: StateImitation, student: AttentionLayout, teacher: AttentionLayout) -> ImitationLoss:
    layers = map_layers(settings, student.layers, teacher.layers)
    return Attentions(Needs(attended={"scores": tuple(range(student.layers))}), Needs(attended={"scores": layers}))


def _relations(settings: StateImitation, student: AttentionLayout, teacher: AttentionLayout) -> ImitationLoss:
    kinds = ("query", "key", "value") if settings.relation_kind == "query_key_value" else ("scores", "value")
    last, chosen = student.layers - 1, settings.teacher_layer % teacher.layers
    return Relations(
        Needs(attended=dict.fromkeys(kinds, (last,))),
        Needs(attended=dict.fromkeys(kinds, (chosen,))),
        settings.relation_heads or teacher.heads,
    )


def _cosine(settings: StateImitation, student: AttentionLayout, teacher: AttentionLayout) -> ImitationLoss:
    return Cosine(Needs(states=(student.layers,)), Needs(states=(teacher.layers,)))


def _of_output(kind: Any) -> Callable[[StateImitation, AttentionLayout, AttentionLayout], ImitationLoss]:
    return lambda *_: kind(Needs(states=(OUTPUT,)), Needs(states=(OUTPUT,)))


_LOSSES: dict[str, Callable[[StateImitation, AttentionLayout, AttentionLayout], ImitationLoss]] = {
    "hidden_states": _hidden_states,
    "attentions": _attentions,
    "relations": _relations,
    "cosine": _cosine,
    "vectors": _of_output(Vectors),
    "similarities": _of_output(Similarities),
}
