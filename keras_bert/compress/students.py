"""The initial weights of a student, which come from its teacher."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_bert.layers.block import TransformerBlock, weights_by_path
from keras_bert.layers.embeddings import PositionEmbedding, TokenEmbedding
from keras_bert.models.encoder import config_of, has_layer, sequence_output
from keras_bert.models.traces import check_attached
from keras_bert.objectives.base import Batch, Sums

_DENSE = ("kernel", "bias")

# The layers of a model on top of its encoder.
_HEADS = ("pooler", "projections", "prediction_head", "classifier", "regressor", "span_classifier", "span_transform")

# Layers outside the blocks that a student of the same width takes over as they are.
_SHARED = (
    *("token_embedding", "position_embedding", "segment_embedding", "embeddings_norm", "embedding_projection"),
    *("final_norm", "relative_embedding", "relative_bias", "convolution"),
    *_HEADS,
)


def spread_layers(teacher: int, student: int) -> tuple[int, ...]:
    """Chooses the layers of a teacher, counted from 0, for a student: the last one, and others evenly spread.

    Layer i of the student is layer ceil((i + 1) x teacher / student) of the teacher, both counted from 1, as the layer
    map of TinyBERT (Jiao et al. 2020, section 4.1) where the teacher has k times as many.
    """
    if not 1 <= student <= teacher:
        raise ValueError(f"a student must have 1 to {teacher} of the teacher's layers, got {student}")
    return tuple(-(-(index + 1) * teacher // student) - 1 for index in range(student))


class Importance(NamedTuple):
    """The importance of a block's attention heads (heads,) and feed-forward units (intermediate,)."""

    heads: Any
    units: Any


def initialize_from_teacher(
    student: keras.Model,
    teacher: keras.Model,
    layers: Sequence[int],
    *,
    importance: Sequence[Importance] | None = None,
    token_counts: Any = None,
) -> dict[str, str]:
    """Copies layers of a teacher to a student of the same width and with the same head (Sanh et al. 2019, section 3).

    The embeddings, the pooler, the head and the chosen blocks are copied; if the teacher's layers share one block, that
    block. Of blocks with more heads or wider feed-forward layers than the student's, the most important parts are
    copied. Where the student's token table has a rank, it gets the nearest product of two matrices, whose error is
    weighted by `token_counts` (vocabulary,), how often each token occurs in texts.

    `layers` has the index, from 0, of the teacher's block for each block of the student. The result is the name of each
    layer of the student that was copied -> the name of the teacher's layer.
    """
    check_attached(teacher)
    config, teacher_config = config_of(student), config_of(teacher)
    if len(layers) != config.num_layers or not all(0 <= layer < teacher_config.num_layers for layer in layers):
        raise ValueError(
            f"layers must be {config.num_layers} of the teacher's layers 0 to {teacher_config.num_layers - 1}, got "
            f"{list(layers)}"
        )
    shared, heads, variant = teacher_config.shared_layers, teacher_config.num_heads, teacher_config.variant
    if config.num_layers > 1 and config.shared_layers != shared:
        raise ValueError(f"shared_layers must be {shared} as in the teacher, got {config.shared_layers}")
    if config.num_heads != heads and importance is None:
        raise ValueError(f"num_heads must be {heads!r} as in the teacher, got {config.num_heads!r}")
    if config.variant not in (variant, variant and variant.of_layers(layers)):
        raise ValueError(f"variant must be {variant!r} as in the teacher, got {config.variant!r}")
    copied = {name: name for name in _SHARED if has_layer(student, name) and has_layer(teacher, name)}
    copied |= {f"block_{index}": f"block_{layer}" for index, layer in enumerate((0,) if shared else layers)}
    parts = dict(zip((f"block_{layer}" for layer in range(teacher_config.num_layers)), importance or (), strict=False))
    weights = {
        name: _initial_weights(student.get_layer(name), teacher.get_layer(kept), parts.get(kept), token_counts)
        for name, kept in copied.items()
    }
    for name, values in weights.items():
        student.get_layer(name).set_weights(values)
    return copied


def copy_head(student: keras.Model, teacher: keras.Model) -> list[str]:
    """Copies the layers of a teacher's head and pooler that have the same shapes; returns their names."""
    check_attached(teacher)
    copied = []
    for name in (name for name in _HEADS if has_layer(student, name) and has_layer(teacher, name)):
        source = weights_by_path(teacher.get_layer(name))
        weights = {
            path: (weight, source.get(path)) for path, weight in weights_by_path(student.get_layer(name)).items()
        }
        if all(theirs is not None and theirs.shape == ours.shape for ours, theirs in weights.values()):
            student.get_layer(name).set_weights([source[path].numpy() for path in weights])
            copied.append(name)
    return copied


def _initial_weights(
    layer: keras.layers.Layer, source: keras.layers.Layer, importance: Importance | None, token_counts: Any
) -> list[Any]:
    """The teacher's weights for a layer of the student; a position table is cut to the student's length."""
    if isinstance(layer, TransformerBlock):
        weights = layer.weights_from(source) if importance is None else _most_important(layer, source, importance)
    elif isinstance(layer, TokenEmbedding) and layer.rank is not None and layer.rank != source.rank:
        weights = [*factorize(np.asarray(source.matrix()), layer.rank, token_counts)]
    else:
        # By name: the teacher's layer may have an adapter, which a student does not have.
        by_path = weights_by_path(source)
        weights = [by_path[path].numpy() for path in weights_by_path(layer) if path in by_path]
    if isinstance(layer, PositionEmbedding):
        weights = [table[: layer.offset + layer.max_length] for table in weights]
    shapes, expected = [weight.shape for weight in weights], [tuple(weight.shape) for weight in layer.weights]
    if shapes != expected:
        raise ValueError(f"{layer.name} must have weights like the teacher's {source.name}, {shapes}, got {expected}")
    return weights


def _most_important(layer: Any, source: Any, importance: Importance) -> list[Any]:
    """The weights of a block's most important heads and units, in their old order."""
    size, heads = source.attention.head_size, _highest(importance.heads, layer.attention.num_heads)
    columns = (heads[:, None] * size + np.arange(size)).reshape(-1)
    units = _highest(importance.units, layer.feed_forward.intermediate_size)
    # Path of a weight -> the indices to keep, and the axis.
    kept = {f"attention/{name}/{kind}": (columns, -1) for name in ("query", "key", "value") for kind in _DENSE}
    kept |= {f"feed_forward/intermediate/{kind}": (units, -1) for kind in _DENSE}
    kept |= {"attention/output_projection/kernel": (columns, 0), "feed_forward/output_projection/kernel": (units, 0)}
    by_path = {path: weight.numpy() for path, weight in weights_by_path(source).items()}
    weights = [(path, by_path[path]) for path in weights_by_path(layer) if path in by_path]
    return [weight.take(*kept[path]) if path in kept else weight for path, weight in weights]


def _highest(values: Any, count: int) -> Any:
    """The indices of the highest values, rising."""
    if count > len(values):
        raise ValueError(f"a student must have at most {len(values)} heads or units of a teacher's layer, got {count}")
    return np.sort(np.argsort(-np.asarray(values), kind="stable")[:count])


def factorize(matrix: Any, rank: int, row_weights: Any = None) -> tuple[Any, Any]:
    """The two matrices (rows, rank) and (rank, columns) with the least squared error of their product.

    The second one has the first right singular vectors of the matrix with rows scaled by the square roots of their
    weights (Eckart and Young 1936); the first one is the projection of the matrix on them. The weight of a row's error
    is 1 plus its entry of `row_weights`.
    """
    weights = 1.0 + (np.zeros(len(matrix)) if row_weights is None else np.asarray(row_weights, "float64"))
    exact = matrix.astype("float64")
    _, vectors = np.linalg.eigh((exact * weights[:, None]).T @ exact)
    along = vectors[:, ::-1][:, :rank]
    # The sign of a singular vector is arbitrary; it is fixed so that equal inputs give equal bytes.
    along = along * np.where(along[np.abs(along).argmax(axis=0), np.arange(rank)] < 0, -1.0, 1.0)
    return (exact @ along).astype("float32"), along.T.astype("float32")


class RandomProbes:
    """A loss without a task: the projection of a text's final states on a random direction.

    To first order, removing a part of an encoder moves a text's final states, all tokens together, by a vector v. For a
    vector r of independent normal entries the mean of |r v| is sqrt(2 / pi) |v|. With this loss `measure_importance`
    measures, up to that factor, the mean distance by which the states move. Random probes estimate a norm as they
    estimate a trace in Hutchinson (1990).
    """

    def __init__(self, encoder: keras.Model) -> None:
        self.network = keras.Model(encoder.input, sequence_output(encoder), name="states")
        self._seeds = keras.random.SeedGenerator(0)

    def __call__(self, model: keras.Model, batch: Batch, training: bool) -> Sums:
        """`loss`: the sum over the tokens of each text of r h, with another r for each text and token."""
        states = model({spec.name: batch[spec.name] for spec in model.inputs}, training=training)
        mask = ops.cast(batch["padding_mask"], states.dtype)
        probes = keras.random.normal(ops.shape(states), dtype=states.dtype, seed=self._seeds) * mask[..., None]
        return {"loss": (ops.sum(probes * states), ops.cast(ops.shape(states)[0], states.dtype))}
