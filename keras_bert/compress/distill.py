"""Distillation: a smaller student learns from a teacher (Hinton et al. 2015)."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.config import Distillation
from keras_bert.encoder import blocks_of, has_layer
from keras_bert.layers.embeddings import PositionEmbedding
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.losses import cross_entropy, hits, weighted
from keras_bert.objectives import Batch, Sums, call_model
from keras_bert.saving import digest_weights

# Layers outside the blocks that a student of the same width takes over as they are.
_SHARED = ("token_embedding", "position_embedding", "segment_embedding", "embeddings_norm", "pooler", "classifier")


def divergence(student_logits: Any, teacher_logits: Any, temperature: float) -> Any:
    """T^2 KL(teacher || student) of both softmaxes at temperature T, in nats: twice (..., classes) -> (...).

    T^2 keeps the gradients as large as those of the true labels (Hinton et al. 2015, section 2).
    """
    student = ops.log_softmax(ops.cast(student_logits, "float32") / temperature, axis=-1)
    teacher = ops.log_softmax(ops.cast(teacher_logits, "float32") / temperature, axis=-1)
    return temperature**2 * ops.sum(ops.exp(teacher) * (teacher - student), axis=-1)


class DistillationObjective:
    """What a student minimizes: its distance from the teacher, and from the true labels.

    Args:
        teacher: from the same inputs to logits over the same labels; it is not trained.
        distillation: temperature, and the share of the true labels.
    """

    def __init__(self, teacher: keras.Model, distillation: Distillation) -> None:
        self._teacher = teacher
        self._distillation = distillation

    def weights(self, batch: Batch) -> dict[str, Any]:
        """The weight of `loss`: the rows."""
        return {"loss": ops.sum(ops.ones_like(batch["label"], dtype="float32"))}

    def identity(self) -> dict[str, Any]:
        """The name of the class, the settings and the digest of the teacher's weights."""
        settings = dataclasses.asdict(self._distillation)
        return {"class": type(self).__name__, **settings, "teacher": digest_weights(self._teacher)}

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """Sums and weights of `loss`, `accuracy` and `teacher_divergence`.

        Args:
            model: the student.
            batch: the model's inputs and `label` (batch,).
            training: whether the student's dropout is on.
        """
        logits = call_model(model, batch, training)
        wanted = call_model(self._teacher, batch, training=False)
        distance = divergence(logits, ops.stop_gradient(wanted), self._distillation.temperature)
        hard = self._distillation.hard_weight
        ones = ops.ones_like(batch["label"], dtype="float32")
        return {
            "loss": weighted(hard * cross_entropy(logits, batch["label"]) + (1 - hard) * distance, ones),
            "accuracy": weighted(hits(logits, batch["label"]), ones),
            "teacher_divergence": weighted(distance, ones),
        }


def initialize_from_teacher(student: keras.Model, teacher: keras.Model) -> dict[str, str]:
    """Starts a student as wide as its teacher from the teacher's layers (Sanh et al. 2019, section 3).

    The embeddings, the pooler and the classifier are copied, and of the teacher's blocks every k-th.

    Returns:
        Student's layer -> the layer of the teacher that it was copied from.

    Raises:
        ValueError: the teacher's number of blocks is no multiple of the student's, or the weights of
            two layers differ in shape, as they do when the models differ in width or vocabulary, or the
            blocks differ in their number of heads.
    """
    blocks, teacher_blocks = len(blocks_of(student)), len(blocks_of(teacher))
    if teacher_blocks % blocks:
        raise ValueError(f"the teacher's {teacher_blocks} blocks must be a multiple of the student's, got {blocks}")
    stride = teacher_blocks // blocks
    copied = {name: name for name in _SHARED if has_layer(student, name) and has_layer(teacher, name)}
    copied |= {f"block_{index}": f"block_{index * stride}" for index in range(blocks)}
    weights = {name: _take_over(student.get_layer(name), teacher.get_layer(of)) for name, of in copied.items()}
    for name, values in weights.items():
        student.get_layer(name).set_weights(values)
    return copied


def _take_over(layer: keras.layers.Layer, source: keras.layers.Layer) -> list[Any]:
    """The weights that the student's layer gets; of the positions only as many as it has."""
    weights = source.get_weights()
    if isinstance(layer, PositionEmbedding):
        weights = [table[: layer.max_length] for table in weights]
    shapes, wanted = [weight.shape for weight in weights], [tuple(weight.shape) for weight in layer.weights]
    if shapes != wanted:
        raise ValueError(f"{layer.name} must have weights like the teacher's {source.name}, {shapes}, got {wanted}")
    if isinstance(layer, EncoderBlock) and layer.settings["num_heads"] != source.settings["num_heads"]:
        heads = layer.settings["num_heads"]
        raise ValueError(f"{layer.name} must have {source.settings['num_heads']} heads like the teacher's, got {heads}")
    return weights
