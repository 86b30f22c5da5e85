"""The encoder as a functional Keras model, and what can be read from one."""

from typing import Any

import keras

from keras_bert.config import EncoderConfig
from keras_bert.folders import INPUT_NAMES
from keras_bert.layers.adapters import PromptPlaces, TokenStates
from keras_bert.layers.block import Block
from keras_bert.layers.heads import FirstTokenPooler, Pooler, PredictionHead
from keras_bert.models.graphs.bert import bert_states
from keras_bert.models.graphs.registry import STATES

# Where a prompt comes into the graph, and where it leaves it.
PROMPT_PLACES, TOKEN_STATES = "prompt_places", "token_states"


def build_encoder(config: EncoderConfig, *, pooler: bool = True) -> keras.Model:
    """Builds the encoder.

    Args:
        config: its shape.
        pooler: whether it has BERT's pooler, which some released checkpoints lack, or the prediction head of the first
            token where all heads have one.

    Returns:
        A model from `token_ids`, `padding_mask` and, where there are several segments, `segment_ids`, each int32
        (batch, length), to `sequence_output` (batch, length, hidden) and, with a pooler, `pooled_output`
        (batch, hidden).
    """
    names = [name for name in INPUT_NAMES if name != "segment_ids" or config.num_segments > 1]
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    make_states = bert_states if config.variant is None else STATES[type(config.variant)]
    states = make_states(config, PromptPlaces(name=PROMPT_PLACES)(inputs))
    outputs = {"sequence_output": TokenStates(name=TOKEN_STATES)(states)}
    if pooler:
        outputs["pooled_output"] = _pool(config, outputs["sequence_output"])
    return keras.Model(inputs, outputs, name="encoder")


def _pool(config: EncoderConfig, states: Any) -> Any:
    if has_prediction_head(config):
        return _prediction_head(config, "pooler")(FirstTokenPooler(name="first_token")(states))
    return Pooler(config.initializer_range, config.pooler_activation, config.pooler_dropout, name="pooler")(states)


def has_prediction_head(config: EncoderConfig) -> bool:
    """Whether every head on an encoder begins with a prediction head without biases, as in ModernBERT."""
    return config.variant is not None and config.variant.prediction_head


def predicted(encoder: keras.Model, states: Any) -> Any:
    """States of an encoder, or a vector of them, as its heads read them: (..., hidden) -> the same shape.

    As they are, or through a prediction head, a new layer `prediction_head`, see `has_prediction_head`.
    """
    config = config_of(encoder)
    return _prediction_head(config, "prediction_head")(states) if has_prediction_head(config) else states


def _prediction_head(config: EncoderConfig, name: str) -> PredictionHead:
    settings = config.activation, config.layer_norm_epsilon, config.initializer_range
    return PredictionHead(*settings, use_bias=False, name=name)


def input_names(model: keras.Model) -> list[str]:
    """Those of `INPUT_NAMES` that a model takes: no `segment_ids` where its encoder tells no segments apart."""
    held = {spec.name for spec in model.inputs}
    return [name for name in INPUT_NAMES if name in held]


def encoder_of(model: keras.Model) -> keras.Model:
    """The encoder inside a model with heads; the weights are shared, not copied.

    Models with heads are one flat graph: Keras saves a layer that stands in a nested model and outside
    of it (the token embedding under the masked-token head) as two layers with weights of their own.

    Returns:
        What `build_encoder` returns; without `pooled_output` where the model has no pooler.

    Raises:
        ValueError: there is no encoder in the model.
    """
    inputs = {name: output_of(model, name) for name in INPUT_NAMES if has_layer(model, name)}
    # A file of a version without prompts, which had BERT's graph alone, ends with a block.
    last = TOKEN_STATES if has_layer(model, TOKEN_STATES) else blocks_of(model)[-1].name
    outputs = {"sequence_output": output_of(model, last)}
    if has_layer(model, "pooler"):
        outputs["pooled_output"] = output_of(model, "pooler")
    return keras.Model(inputs, outputs, name="encoder")


def output_of(model: keras.Model, name: str) -> Any:
    """What a layer gives where it is called last in a model; others may call it, too.

    Raises:
        ValueError: there is no layer of this name.
    """
    return calls_of(model, model.get_layer(name))[-1].output_tensors[0]


def sequence_output(encoder: keras.Model) -> Any:
    """The final states of an encoder's tokens (batch, length, hidden).

    Raises:
        ValueError: it is no encoder, but a model with a head.
    """
    if not isinstance(encoder.output, dict) or "sequence_output" not in encoder.output:
        raise ValueError(f"encoder must be what build_encoder or a task's `encoder` gives, got model {encoder.name!r}")
    return encoder.output["sequence_output"]


def pooled_output(encoder: keras.Model) -> Any:
    """The output of an encoder's pooler (batch, hidden).

    Raises:
        ValueError: the encoder has none, as that of a model with mean pooling, or it is no encoder.
    """
    sequence_output(encoder)
    if "pooled_output" not in encoder.output:
        raise ValueError("encoder must have a pooler, got one without; pooling by the mean needs none")
    return encoder.output["pooled_output"]


def config_of(model: keras.Model) -> EncoderConfig:
    """The configuration of the encoder inside a model.

    Raises:
        ValueError: there is no encoder in the model.
    """
    blocks = blocks_of(model)
    if blocks[0].config is not None:
        return blocks[0].config
    calls = len(calls_of(model, blocks[0]))
    tokens, positions = model.get_layer("token_embedding"), model.get_layer("position_embedding")
    projection = model.get_layer("embedding_projection") if has_layer(model, "embedding_projection") else None
    pooler = model.get_layer("pooler") if has_layer(model, "pooler") else None
    return EncoderConfig(
        num_layers=max(len(blocks), calls),
        hidden_size=tokens.hidden_size if projection is None else projection.hidden_size,
        embedding_size=None if projection is None else tokens.hidden_size,
        embedding_rank=tokens.rank,
        shared_layers=calls > 1,
        vocabulary_size=tokens.vocabulary_size,
        max_length=positions.max_length,
        position_offset=positions.offset,
        num_segments=model.get_layer("segment_embedding").num_segments if has_layer(model, "segment_embedding") else 0,
        pooler_activation="tanh" if pooler is None else pooler.activation,
        pooler_dropout=0.0 if pooler is None else pooler.dropout.rate,
        **blocks[0].settings,
    )


def blocks_of(model: keras.Model) -> list[Block]:
    """The encoder blocks of a model, first to last; one where all layers share it.

    Raises:
        ValueError: there are none.
    """
    blocks = [layer for layer in model.layers if isinstance(layer, Block)]
    if not blocks:
        raise ValueError(f"model must hold an encoder, got {model.name!r} without encoder blocks")
    return sorted(blocks, key=lambda block: int(block.name.removeprefix("block_")))


def calls_of(model: keras.Model, layer: keras.layers.Layer) -> list[Any]:
    """The places where a layer stands in a model's graph, first to last: several where layers are shared."""
    depths = sorted(model._nodes_by_depth, reverse=True)
    return [node for depth in depths for node in model._nodes_by_depth[depth] if node.operation is layer]


def has_layer(model: keras.Model, name: str) -> bool:
    """Whether a model has a layer of this name."""
    return any(layer.name == name for layer in model.layers)
