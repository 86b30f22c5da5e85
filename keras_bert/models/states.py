"""What stands between a model's inputs and its outputs: hidden states, and what its attentions compute."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bert.layers.dense import Dense
from keras_bert.layers.recording import Seen, recording
from keras_bert.layers.tap import Tap
from keras_bert.models.encoder import (
    PROMPT_PLACES,
    blocks_of,
    calls_of,
    config_of,
    encoder_of,
    has_layer,
    sequence_output,
)

# What can be read of an attention, see `AttentionReader`.
ATTENDED = ("query", "key", "value", "scores")


class Anatomy(NamedTuple):
    """What decides what can be read of a model, and compared with that of another one.

    Attributes:
        layers: encoder blocks, a shared one as often as it is called.
        heads: of each attention.
        attention_width: of queries, keys and values, all heads together.
        unreadable: those of `ATTENDED` that an attention does not tell.
        attention: the name of its class.
    """

    layers: int
    heads: int
    attention_width: int
    unreadable: frozenset[str]
    attention: str


def hidden_states(model: keras.Model) -> list[Any]:
    """The states in a model's graph, each (batch, length, hidden): what each block reads, then the encoder's output.

    As in transformers: the first are those of the embeddings, and what stands between two blocks, as DeBERTa's
    convolution, or behind the last one, as ModernBERT's norm, belongs to the block below. Without those of a prompt.

    Raises:
        ValueError: there is no encoder in the model.
    """
    blocks, prompt = blocks_of(model), _prompt(model)
    # The last one may be called again by a decoder.
    each = config_of(model).num_layers // len(blocks)
    read = [call.input_tensors[0] for block in blocks for call in calls_of(model, block)[:each]]
    return [*(states[:, prompt:] if prompt else states for states in read), sequence_output(encoder_of(model))]


def anatomy(model: keras.Model) -> Anatomy:
    """Looks what a model's attentions tell, by running it on two rows of three tokens.

    Raises:
        ValueError: there is no encoder in the model.
    """
    config, blocks = config_of(model), blocks_of(model)
    inputs = {spec.name: ops.ones((2, 3), "int32") for spec in model.inputs}
    opened = [_points_of(block) for block in blocks]
    with recording(tap for points in opened for tap, _ in points.values()) as seen:
        model(inputs, training=False)
    length = 3 + _prompt(model)
    scores, rows = (2, config.num_heads, length, length), (2 * length,)
    told = {
        kind
        for kind in ATTENDED
        if all(
            kind in points and _begins(seen[points[kind][0]], scores if kind == "scores" else rows) for points in opened
        )
    }
    attention = getattr(blocks[0], "attention", None)
    width = getattr(attention, "num_heads", config.num_heads) * getattr(attention, "head_size", config.head_size)
    return Anatomy(config.num_layers, config.num_heads, width, frozenset(ATTENDED) - told, type(attention).__name__)


class AttentionReader:
    """Runs a model, and tells besides what some of its attentions made on the way.

    What is read passes taps, see `recording`; blocks that are read compute without `training_call`, all others with it.

    Args:
        model: with an encoder in it; `anatomy` tells what can be read of it.
        attended: some of `ATTENDED` -> of which blocks, from 0; of a shared one, of which of its calls.
    """

    def __init__(self, model: keras.Model, attended: Mapping[str, Sequence[int]]) -> None:
        self._model, self._attended, self._prompt = model, attended, _prompt(model)
        blocks, layers = blocks_of(model), config_of(model).num_layers
        self._calls = layers // len(blocks)
        self._points = {
            (kind, layer): _points_of(blocks[layer // self._calls])[kind]
            for kind, wanted in attended.items()
            for layer in wanted
        }

    def run(self, inputs: Mapping[str, Any], training: bool) -> tuple[Any, dict[str, list[Any]]]:
        """The model's outputs, and what was read, in the order that was asked for.

        Scores are those before the softmax, of (batch, heads, length, length), with `MASK_BIAS` where a token is
        hidden. Queries, keys and values are (batch, length, all heads' widths); queries are not scaled yet, nor rotated
        where positions are, so that they hold content alone. Places of a prompt are left out.
        """
        with recording(tap for tap, _ in self._points.values()) as seen:
            outputs = self._model(inputs, training=training)
        rows = ops.shape(inputs["padding_mask"])[0]
        return outputs, {
            kind: [self._find(seen, kind, layer, rows) for layer in wanted] for kind, wanted in self._attended.items()
        }

    def _find(self, seen: Seen, kind: str, layer: int, rows: Any) -> Any:
        tap, third = self._points[kind, layer]
        # A block may be called for several layers. Within a call the tokens' own come first: DeBERTa then puts its
        # positions through the same product.
        each = len(seen[tap]) // self._calls
        found = seen[tap][layer % self._calls * each]
        if kind == "scores":
            return found[:, :, self._prompt :, self._prompt :]
        found = ops.reshape(found, (rows, -1, found.shape[-1]))[:, self._prompt :]
        return found if third is None else ops.split(found, 3, axis=-1)[third]


def _points_of(block: Any) -> dict[str, tuple[Tap, int | None]]:
    """What of `ATTENDED` a block's attention tells -> the tap that it passes, and which third of what passes it is."""
    attention = getattr(block, "attention", None)
    together = getattr(attention, "query_key_value", None)
    points: dict[str, tuple[Tap, int | None]] = {}
    for third, kind in enumerate(ATTENDED[:3]):
        product = getattr(attention, kind, None) or together
        # Behind the tap an adapter would add to it.
        if isinstance(product, Dense) and product.adapter is None:
            points[kind] = product.output_tap, None if product is not together else third
    # One that sees all pairs of a short text alone would show that to `anatomy`.
    tap = getattr(attention, "scores_tap", None) if getattr(attention, "sees_all", False) else None
    return points if tap is None else points | {"scores": (tap, None)}


def _begins(tensors: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Whether there are tensors, and the first of each call begins with a shape."""
    return bool(tensors) and tuple(tensors[0].shape[: len(shape)]) == shape


def _prompt(model: keras.Model) -> int:
    """The tokens of a prompt in front of a model's inputs."""
    return model.get_layer(PROMPT_PLACES).tokens if has_layer(model, PROMPT_PLACES) else 0
