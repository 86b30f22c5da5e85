"""The layers that an adaptation adds to those of an encoder."""

import contextlib
from collections.abc import Callable

import keras
import numpy as np

from keras_bert.core.checks import nearest_name
from keras_bert.layers.adapters import BottleneckAdapter, LowRankAdapter, SoftPrompt
from keras_bert.layers.dense import Dense
from keras_bert.layers.embeddings import TokenEmbedding
from keras_bert.models.encoder import blocks_of, config_of
from keras_bert.options.adaptation import Adaptation, Adapters, Bias, Lora, Prompt

# Layers of a block by the end of their paths: the default layers of LoRA, query and value (Hu et al. 2022, section
# 4.2), or the layer that holds both.
_QUERY_AND_VALUE = (("query", "value"), ("query_key_value",))
# The last layer of both sub-layers, which a bottleneck adapter follows (Houlsby et al. 2019, figure 2).
_ENDS = ("output_projection",)

Parts = dict[str, tuple[keras.layers.Layer, keras.layers.Layer]]


def make_parts(model: keras.Model, adaptation: Adaptation) -> Parts:
    """Builds the layers of an adaptation: path of a layer of the encoder -> that layer and the layer to attach."""
    match adaptation:
        case Lora(rank=rank, alpha=alpha, dropout=dropout, layers=names):
            layers = dense_layers(model)
            allowed = sorted({path.rpartition("/")[2] for path in layers})
            if names is None:
                names = next((names for names in _QUERY_AND_VALUE if set(names) <= set(allowed)), ("query", "value"))
            chosen = {
                path: layer for path, layer in layers.items() if path.endswith(tuple(f"/{name}" for name in names))
            }
            for name in names:
                if not any(path.endswith(f"/{name}") for path in chosen):
                    raise ValueError(f"Lora.layers must be among {allowed}, got {name!r}{nearest_name(name, allowed)}")
            return _beside(chosen, lambda: LowRankAdapter(rank, alpha, dropout, name="low_rank"))
        case Adapters(size=size):
            chosen = {path: layer for path, layer in dense_layers(model).items() if path.endswith(_ENDS)}
            return _beside(chosen, lambda: BottleneckAdapter(size, name="bottleneck"))
        case Prompt(tokens=tokens):
            return _prompt(model, tokens)
        case Bias():
            return {}


def dense_layers(model: keras.Model) -> dict[str, Dense]:
    """Path -> dense layer, of all blocks of a model."""
    layers: dict[str, Dense] = {}
    for block in blocks_of(model):
        parts = block._flatten_layers(include_self=False, recursive=True)
        layers |= {part.path: part for part in parts if isinstance(part, Dense)}
    return layers


def _prompt(model: keras.Model, tokens: int) -> Parts:
    config = config_of(model)
    if tokens >= config.max_length:
        raise ValueError(f"Prompt.tokens must be below the encoder's {config.max_length} positions, got {tokens}")
    table = model.get_layer("token_embedding")
    parts = _beside({table.path: table}, lambda: SoftPrompt(tokens, name="soft_prompt"))
    # Vectors of random tokens are better initial values than random numbers (Lester et al. 2021, section 3.2).
    chosen = keras.random.randint((tokens,), 0, config.vocabulary_size)
    parts[table.path][1].vectors.assign(np.asarray(table.matrix())[np.asarray(chosen)])
    return parts


def _beside(layers: dict[str, Dense] | dict[str, TokenEmbedding], make: Callable[[], keras.layers.Layer]) -> Parts:
    return {path: (layer, _build(make, layer)) for path, layer in layers.items()}


def _build(make: Callable[[], keras.layers.Layer], layer: Dense | TokenEmbedding) -> keras.layers.Layer:
    """A new layer whose weights' paths begin with the path of its layer, as layer-wise learning rates require."""
    with contextlib.ExitStack() as scopes:
        for name in layer.path.split("/"):
            scopes.enter_context(keras.name_scope(name))
        part = make()
        matrix = layer.matrix() if isinstance(layer, TokenEmbedding) else layer.kernel
        part.build((None, matrix.shape[0]), (None, matrix.shape[1]))
    return part
