"""Builds encoders as functional Keras models, and finds them in models with heads."""

from typing import Any

import keras
import numpy as np

from keras_bert.core.config import EncoderConfig
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.core.tensors import Tensor
from keras_bert.families.bert.graph import bert_states
from keras_bert.families.graphs import STATES
from keras_bert.layers.adapters import PromptPlaces, TokenStates
from keras_bert.layers.block import TransformerBlock
from keras_bert.layers.heads import FirstTokenPooler, Pooler, PredictionHead

# The names of the layers that insert a prompt and that remove it.
PROMPT_PLACES, TOKEN_STATES = "prompt_places", "token_states"


def build_encoder(config: EncoderConfig, *, pooler: bool = True) -> keras.Model:
    """Builds an encoder, a functional Keras model with random weights.

    Args:
        config: the configuration.
        pooler: whether BERT's pooler is added, which some released checkpoints lack; in ModernBERT's graph it is a
            prediction head on the first token.

    Returns:
        A model with the inputs `token_ids`, `padding_mask` and, for several segments, `segment_ids`, each int32 (batch,
        length), and the outputs `sequence_output` (batch, length, hidden) and, with a pooler, `pooled_output` (batch,
        hidden).

    Examples:
        >>> config = EncoderConfig(num_layers=1, hidden_size=8, num_heads=2, intermediate_size=16, vocabulary_size=20)
        >>> encoder = build_encoder(config)
        >>> outputs = encoder({name: np.ones((2, 5), "int32") for name in input_names(encoder)})
        >>> tuple(outputs["sequence_output"].shape), tuple(outputs["pooled_output"].shape)
        ((2, 5, 8), (2, 8))
    """
    names = [name for name in INPUT_NAMES if name != "segment_ids" or config.num_segments > 1]
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    make_states = bert_states if config.variant is None else STATES[type(config.variant)]
    states = make_states(config, PromptPlaces(name=PROMPT_PLACES)(inputs))
    outputs = {"sequence_output": TokenStates(name=TOKEN_STATES)(states)}
    if pooler:
        if has_prediction_head(config):
            head: Any = _prediction_head(config, "pooler")
            outputs["pooled_output"] = head(FirstTokenPooler(name="first_token")(outputs["sequence_output"]))
        else:
            head = Pooler(config.initializer_range, config.pooler_activation, config.pooler_dropout, name="pooler")
            outputs["pooled_output"] = head(outputs["sequence_output"])
    return keras.Model(inputs, outputs, name="encoder")


def has_prediction_head(config: EncoderConfig) -> bool:
    """True if every head on an encoder begins with a prediction head without biases, as in ModernBERT."""
    return config.variant is not None and config.variant.prediction_head


def head_inputs(encoder: keras.Model, states: Tensor) -> Tensor:
    """The inputs of a head's output layer: in ModernBERT the outputs of a new prediction head, else the states.

    (..., hidden) -> the same shape; see `has_prediction_head`.
    """
    config = config_of(encoder)
    return _prediction_head(config, "prediction_head")(states) if has_prediction_head(config) else states


def _prediction_head(config: EncoderConfig, name: str) -> PredictionHead:
    settings = config.activation, config.layer_norm_epsilon, config.initializer_range
    return PredictionHead(*settings, use_bias=False, name=name)


def input_names(model: keras.Model) -> list[str]:
    """The names in `INPUT_NAMES` that are inputs of a model; with fewer than two segments it has no `segment_ids`."""
    names = {spec.name for spec in model.inputs}
    return [name for name in INPUT_NAMES if name in names]


def encoder_of(model: keras.Model) -> keras.Model:
    """Extracts the encoder from a model with heads; both share their weights.

    A model with heads is one flat graph rather than a head on a nested encoder: Keras would save a layer that occurs
    both inside and outside a nested model, such as the token embedding of the masked-token head, as two layers.

    Returns:
        A model as `build_encoder` returns it, without `pooled_output` if there is no pooler.
    """
    inputs = {name: output_of(model, name) for name in INPUT_NAMES if has_layer(model, name)}
    blocks_of(model)  # raises for a model without an encoder
    outputs = {"sequence_output": output_of(model, TOKEN_STATES)}
    if has_layer(model, "pooler"):
        outputs["pooled_output"] = output_of(model, "pooler")
    return keras.Model(inputs, outputs, name="encoder")


def pooling_of_origin(encoder: keras.Model) -> str | None:
    """The pooling of the task that an encoder was taken from by `Task.encoder`; None for another encoder."""
    return getattr(encoder, "pooling", None)


def output_of(model: keras.Model, name: str) -> Any:
    """The symbolic output of a layer's last call in a model."""
    return calls_of(model, model.get_layer(name))[-1].output_tensors[0]


def sequence_output(encoder: keras.Model) -> Any:
    """The final hidden states of an encoder (batch, length, hidden), symbolic."""
    if not isinstance(encoder.output, dict) or "sequence_output" not in encoder.output:
        raise ValueError(f"encoder must be made by build_encoder or a task's `encoder`, got model {encoder.name!r}")
    return encoder.output["sequence_output"]


def pooled_output(encoder: keras.Model) -> Any:
    """The output of an encoder's pooler (batch, hidden), symbolic."""
    sequence_output(encoder)
    if "pooled_output" not in encoder.output:
        raise ValueError("encoder must have a pooler, got one without; pooling by the mean needs none")
    return encoder.output["pooled_output"]


def config_of(model: keras.Model) -> EncoderConfig:
    """The configuration of the encoder inside a model."""
    return blocks_of(model)[0].config


def blocks_of(model: keras.Model) -> list[TransformerBlock]:
    """The encoder blocks of a model, first to last; a single block if all layers share their weights."""
    blocks = [layer for layer in model.layers if isinstance(layer, TransformerBlock)]
    if not blocks:
        raise ValueError(f"model must hold an encoder, got {model.name!r} without encoder blocks")
    return sorted(blocks, key=lambda block: int(block.name.removeprefix("block_")))


def calls_of(model: keras.Model, layer: keras.layers.Layer) -> list[Any]:
    """The calls of a layer in the graph of a model, first to last."""
    depths = sorted(model._nodes_by_depth, reverse=True)
    return [node for depth in depths for node in model._nodes_by_depth[depth] if node.operation is layer]


def has_layer(model: keras.Model, name: str) -> bool:
    """True if a model has a layer of this name."""
    return any(layer.name == name for layer in model.layers)


def top_layers(model: keras.Model) -> list[keras.layers.Layer]:
    """The layers of a model and of the models inside it, without their sublayers."""
    nested = (layer.layers if isinstance(layer, keras.Model) else [layer] for layer in model.layers)
    return [layer for layers in nested for layer in layers]


def padding_effect(encoder: keras.Model) -> float:
    """The largest change of a token's state when a row is padded, as a share of the largest state.

    It is 0 apart from rounding, unless attention scores are so large that `MASK_BIAS` does not hide padding.
    """
    config = config_of(encoder)
    length = min(16, config.max_length // 2)
    mask = np.broadcast_to(np.arange(2 * length) < length, (4, 2 * length)).astype("int32")
    ids = np.random.default_rng(0).integers(0, config.vocabulary_size, mask.shape, "int32")
    rows = {"token_ids": ids, "segment_ids": np.zeros_like(mask), "padding_mask": mask}
    unpadded, padded = (
        keras.ops.convert_to_numpy(
            encoder({name: rows[name][:, :width] for name in input_names(encoder)})["sequence_output"]
        )
        for width in (length, 2 * length)
    )
    return float(np.abs(padded[:, :length] - unpadded).max() / np.abs(unpadded).max())
