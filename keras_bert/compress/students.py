"""Where a student starts from."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_bert.layers.block import Block, by_place
from keras_bert.layers.embeddings import PositionEmbedding
from keras_bert.models.encoder import config_of, has_layer

# Layers outside the blocks that a student of the same width takes over as they are.
_SHARED = (
    *("token_embedding", "position_embedding", "segment_embedding", "embeddings_norm", "embedding_projection"),
    *("final_norm", "relative_embedding", "convolution"),
    *("pooler", "prediction_head"),
    *("classifier", "regressor", "span_classifier"),
)


def spread_layers(teacher: int, student: int) -> tuple[int, ...]:
    """Which of a teacher's layers, counted from 0, a student has: the last one, and others as evenly spread as can be.

    Layer i of the student is layer ceil((i + 1) x teacher / student) of the teacher, both counted from 1, as the layer
    map of TinyBERT (Jiao et al. 2020, section 4.1) where the teacher has k times as many.

    Raises:
        ValueError: the student has more layers than the teacher, or none.
    """
    if not 1 <= student <= teacher:
        raise ValueError(f"a student must have 1 to {teacher} of the teacher's layers, got {student}")
    return tuple(-(-(index + 1) * teacher // student) - 1 for index in range(student))


def initialize_from_teacher(student: keras.Model, teacher: keras.Model, layers: Sequence[int]) -> dict[str, str]:
    """Starts a student as wide as its teacher from the teacher's layers (Sanh et al. 2019, section 3).

    The embeddings, the pooler and the head are copied, and of the teacher's blocks those that are named; of a teacher
    whose layers share one block, that one.

    Args:
        student: with the teacher's head.
        teacher: trained.
        layers: for each block of the student a block of the teacher, counted from 0.

    Returns:
        Student's layer -> the layer of the teacher that it was copied from.

    Raises:
        ValueError: there is no such block, there are not as many as the student has, one model shares its layers and
            the other does not, the weights of two layers differ in shape, as they do when the models differ in width
            or vocabulary, or the encoders differ in their number of heads or their variant.
    """
    config, of = config_of(student), config_of(teacher)
    if len(layers) != config.num_layers or not all(0 <= layer < of.num_layers for layer in layers):
        raise ValueError(
            f"layers must name {config.num_layers} of the teacher's {of.num_layers} from 0 on, got {list(layers)}"
        )
    if config.num_layers > 1 and config.shared_layers != of.shared_layers:
        raise ValueError(f"shared_layers must be {of.shared_layers} as in the teacher, got {config.shared_layers}")
    if config.num_heads != of.num_heads:
        raise ValueError(f"num_heads must be {of.num_heads!r} as in the teacher, got {config.num_heads!r}")
    if config.variant not in (of.variant, of.variant and of.variant.of_layers(layers)):
        raise ValueError(f"variant must be {of.variant!r} as in the teacher, got {config.variant!r}")
    copied = {name: name for name in _SHARED if has_layer(student, name) and has_layer(teacher, name)}
    copied |= {f"block_{index}": f"block_{layer}" for index, layer in enumerate((0,) if of.shared_layers else layers)}
    weights = {name: _take_over(student.get_layer(name), teacher.get_layer(kept)) for name, kept in copied.items()}
    for name, values in weights.items():
        student.get_layer(name).set_weights(values)
    return copied


def _take_over(layer: keras.layers.Layer, source: keras.layers.Layer) -> list[Any]:
    """The weights that the student's layer gets; of the positions only as many as it has."""
    if isinstance(layer, Block):
        weights = layer.weights_from(source)
    else:
        # By name: beside the teacher's layer there may stand an adapter, which a student does not have.
        held = by_place(source)
        weights = [held[place].numpy() for place in by_place(layer) if place in held]
    if isinstance(layer, PositionEmbedding):
        weights = [table[: layer.offset + layer.max_length] for table in weights]
    shapes, wanted = [weight.shape for weight in weights], [tuple(weight.shape) for weight in layer.weights]
    if shapes != wanted:
        raise ValueError(f"{layer.name} must have weights like the teacher's {source.name}, {shapes}, got {wanted}")
    return weights
