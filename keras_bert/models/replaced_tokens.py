"""A discriminator, and the generator that it is trained with (Clark et al. 2020)."""

import keras
from keras import ops

from keras_bert.layers.dense import Dense
from keras_bert.layers.heads import ReplacedTokenTransform
from keras_bert.layers.replacement import TokenReplacement
from keras_bert.models.encoder import build_encoder, config_of, has_layer, sequence_output
from keras_bert.models.global_tokens import with_global_tokens
from keras_bert.models.pretraining import build_pretraining
from keras_bert.options.generator import Generator

HEAD = "replaced_token_classifier"
# What both may share; a graph without a table of positions shares that of the tokens.
_SHARED = ("token_embedding", "position_embedding")


def build_replaced_tokens(encoder: keras.Model) -> keras.Model:
    """Puts the head on an encoder that tells of every token whether it is the text's own.

    Args:
        encoder: what `build_encoder` returns; its weights are shared, not copied.

    Returns:
        A model from the encoder's inputs to logits (batch, length), above 0 for what was replaced.
    """
    encoder = with_global_tokens(encoder, "none")
    config = config_of(encoder)
    transform = ReplacedTokenTransform(config.activation, config.initializer_range, name="replaced_token_transform")
    logits = Dense(1, config.initializer_range, name=HEAD)(transform(sequence_output(encoder)))
    flat = keras.layers.Reshape((-1,), name="replaced_token_logits")(logits)
    return keras.Model(encoder.input, flat, name="discriminator")


def build_joint(discriminator: keras.Model, settings: Generator, *, mask_decoder: bool = False) -> keras.Model:
    """A discriminator and a new generator as one model, to be trained in one step; `settle` it afterwards.

    Args:
        discriminator: what `build_replaced_tokens` returns; it is part of the result. With gradient-disentangled
            embeddings its tables move to the generator, and hold from here on what is to be added to those.
        settings: of the generator.
        mask_decoder: of the generator, see `build_pretraining`.

    Returns:
        A model from the discriminator's inputs, with tokens hidden, `mask_positions`, `mask_ids` and `mask_weights`
        (batch, predictions) to `masked_tokens` (batch, predictions, vocabulary) and `replaced_tokens` (batch, length),
        both logits, and `is_replaced` int32 (batch, length), the labels of the latter.

    Raises:
        ValueError: the generator would be larger than the discriminator, or has no such shape.
    """
    generator = _build_generator(discriminator, settings, mask_decoder)
    inputs = {
        **{name: keras.Input((None,), dtype="int32", name=name) for name in generator.input},
        "mask_ids": keras.Input((None,), dtype="int32", name="mask_ids"),
        "mask_weights": keras.Input((None,), dtype="float32", name="mask_weights"),
    }
    scores = generator({name: inputs[name] for name in generator.input})["masked_tokens"]
    hidden = [inputs[name] for name in ("token_ids", "mask_positions", "mask_ids", "mask_weights")]
    token_ids, is_replaced = TokenReplacement(name="token_replacement")(scores, *hidden)
    read = {**{name: inputs[name] for name in discriminator.input}, "token_ids": token_ids}
    outputs = {"masked_tokens": scores, "replaced_tokens": discriminator(read), "is_replaced": is_replaced}
    return keras.Model(inputs, outputs, name="replaced_tokens")


def settle(joint: keras.Model) -> None:
    """Makes the discriminator inside a model of `build_joint` a model of its own, whatever was shared."""
    for name, layer in _tables(joint.get_layer("discriminator")).items():
        if layer.table_transform is not None:
            layer.embeddings.assign(ops.add(layer.embeddings, joint.get_layer("generator").get_layer(name).embeddings))
            layer.table_transform = None


def _build_generator(discriminator: keras.Model, settings: Generator, mask_decoder: bool) -> keras.Model:
    encoder = build_encoder(settings.config(config_of(discriminator)), pooler=False)
    shared = _tables(discriminator)
    if settings.sharing == "embeddings":
        encoder = keras.models.clone_model(encoder, clone_function=lambda layer: shared.get(layer.name, layer))
    model = build_pretraining(encoder, next_sentence=False, mask_decoder=mask_decoder)
    if settings.sharing == "gradient_disentangled":
        for name, layer in shared.items():
            _disentangle(layer, model.get_layer(name))
    return keras.Model(model.input, model.output, name="generator")


def _tables(model: keras.Model) -> dict[str, keras.layers.Layer]:
    return {name: model.get_layer(name) for name in _SHARED if has_layer(model, name)}


def _disentangle(own: keras.layers.Layer, other: keras.layers.Layer) -> None:
    """From here on a table is that of another layer, which no gradient reaches, plus what it holds: nothing yet."""
    other.embeddings.assign(own.embeddings)
    own.embeddings.assign(ops.zeros_like(own.embeddings.value))
    own.table_transform = lambda difference: ops.add(difference, ops.stop_gradient(other.embeddings))
