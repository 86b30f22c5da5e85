"""Reads the hidden states of a model, and the queries, keys, values and scores of its attention layers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bert.core.tensors import Tensor
from keras_bert.layers.dense import Dense
from keras_bert.layers.tap import RecordedTensors, Tap, recording
from keras_bert.models.encoder import (
    PROMPT_PLACES,
    blocks_of,
    calls_of,
    config_of,
    encoder_of,
    has_layer,
    sequence_output,
)

# The tensors of an attention layer that `AttentionReader` reads.
ATTENTION_TENSORS = ("query", "key", "value", "scores")


class AttentionLayout(NamedTuple):
    """The layout of a model's attention, which decides which tensors distillation can read and compare.

    Shared blocks count once per call in `layers`; `attention_width` is the width of queries, keys and values, all heads
    together. `unreadable` are the names in `ATTENTION_TENSORS` that cannot be read, `attention` is the layer's class.
    """

    layers: int
    heads: int
    attention_width: int
    unreadable: frozenset[str]
    attention: str


def hidden_states(model: keras.Model) -> list[Any]:
    """The inputs of all encoder blocks, and the output of the encoder, each (batch, length, hidden) and symbolic.

    As in transformers, the first ones are the embeddings, and layers after a block, such as DeBERTa's convolution and
    ModernBERT's last norm, belong to that block. The states of a soft prompt are left out.
    """
    blocks, prompt = blocks_of(model), _prompt(model)
    # A mask decoder may call the last block again.
    calls = config_of(model).num_layers // len(blocks)
    inputs = [call.input_tensors[0] for block in blocks for call in calls_of(model, block)[:calls]]
    return [*(states[:, prompt:] if prompt else states for states in inputs), sequence_output(encoder_of(model))]


def attention_layout(model: keras.Model) -> AttentionLayout:
    """Finds the tensors of a model's attention that can be read, by running the model on two rows of three tokens."""
    config, blocks = config_of(model), blocks_of(model)
    inputs = {spec.name: ops.ones((2, 3), "int32") for spec in model.inputs}
    opened = [_points_of(block) for block in blocks]
    with recording(tap for points in opened for tap, _ in points.values()) as seen:
        model(inputs, training=False)
    length = 3 + _prompt(model)
    scores, rows = (2, config.num_heads, length, length), (2 * length,)
    readable = {
        kind
        for kind in ATTENTION_TENSORS
        if all(
            kind in points and _begins(seen[points[kind][0]], scores if kind == "scores" else rows) for points in opened
        )
    }
    attention = getattr(blocks[0], "attention", None)
    width = getattr(attention, "num_heads", config.num_heads) * getattr(attention, "head_size", config.head_size)
    unreadable = frozenset(ATTENTION_TENSORS) - readable
    return AttentionLayout(config.num_layers, config.num_heads, width, unreadable, type(attention).__name__)


class AttentionReader:
    """Runs a model, and returns its outputs together with queries, keys, values or scores of its attention layers.

    The tensors are recorded at taps, see `recording`; a block with recorded taps does not use its `training_call`.
    `attention_layers` has names in `ATTENTION_TENSORS` and the indices of the layers, from 0.
    """

    def __init__(self, model: keras.Model, attention_layers: Mapping[str, Sequence[int]]) -> None:
        self._model, self._attention_layers, self._prompt = model, attention_layers, _prompt(model)
        blocks, layers = blocks_of(model), config_of(model).num_layers
        self._calls = layers // len(blocks)
        self._points = {
            (kind, layer): _points_of(blocks[layer // self._calls])[kind]
            for kind, layers_of_kind in attention_layers.items()
            for layer in layers_of_kind
        }

    def run(self, inputs: Mapping[str, Any], training: bool) -> tuple[Any, dict[str, list[Any]]]:
        """Runs the model; returns its outputs, and the tensors by name, in the order of the layers.

        Scores are those before the softmax (batch, heads, length, length), with `MASK_BIAS` for padding. Queries, keys
        and values are (batch, length, width of all heads), before scaling and rotation, so that they do not depend on
        positions. Tokens of a soft prompt are left out.
        """
        with recording(tap for tap, _ in self._points.values()) as seen:
            outputs = self._model(inputs, training=training)
        rows = ops.shape(inputs["padding_mask"])[0]
        return outputs, {
            kind: [self._find(seen, kind, layer, rows) for layer in layers]
            for kind, layers in self._attention_layers.items()
        }

    def _find(self, seen: RecordedTensors, kind: str, layer: int, rows: Tensor) -> Tensor:
        tap, third = self._points[kind, layer]
        # A shared block is called for several layers. In DeBERTa each call records the tokens, then the positions.
        per_call = len(seen[tap]) // self._calls
        tensor = seen[tap][layer % self._calls * per_call]
        if kind == "scores":
            return tensor[:, :, self._prompt :, self._prompt :]
        tensor = ops.reshape(tensor, (rows, -1, tensor.shape[-1]))[:, self._prompt :]
        return tensor if third is None else ops.split(tensor, 3, axis=-1)[third]


def _points_of(block: Any) -> dict[str, tuple[Tap, int | None]]:
    """Name in `ATTENTION_TENSORS` -> its tap in a block's attention, and its third of a joint projection, if any."""
    attention = getattr(block, "attention", None)
    joint_product = getattr(attention, "query_key_value", None)
    points: dict[str, tuple[Tap, int | None]] = {}
    for third, kind in enumerate(ATTENTION_TENSORS[:3]):
        product = getattr(attention, kind, None) or joint_product
        # An adapter changes the outputs after the tap.
        if isinstance(product, Dense) and product.adapter is None:
            points[kind] = product.output_tap, None if product is not joint_product else third
    # `attention_layout` runs on short rows, which do not show that attention to longer rows is in windows or blocks.
    tap = getattr(attention, "scores_tap", None) if getattr(attention, "scores_all_pairs", False) else None
    return points if tap is None else points | {"scores": (tap, None)}


def _begins(tensors: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """True if there are tensors, and the shape of the first one begins with `shape`."""
    return bool(tensors) and tuple(tensors[0].shape[: len(shape)]) == shape


def _prompt(model: keras.Model) -> int:
    """The number of tokens of the prompt of a model."""
    return model.get_layer(PROMPT_PLACES).tokens if has_layer(model, PROMPT_PLACES) else 0
