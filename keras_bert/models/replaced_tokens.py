"""ELECTRA's pre-training: a generator replaces tokens, and a discriminator detects them (Clark et al. 2020)."""

import keras
from keras import ops

from keras_bert.layers.dense import Dense
from keras_bert.layers.heads import ReplacedTokenTransform
from keras_bert.layers.replacement import TokenReplacement
from keras_bert.models.encoder import build_encoder, config_of, has_layer, sequence_output
from keras_bert.models.global_tokens import with_global_tokens
from keras_bert.models.pretraining import build_pretraining
from keras_bert.options.pretraining import Generator

HEAD = "replaced_token_classifier"
# The embeddings that discriminator and generator may share.
_SHARED = ("token_embedding", "position_embedding")


def build_replaced_tokens(encoder: keras.Model) -> keras.Model:
    """Builds ELECTRA's discriminator: adds the head that detects replaced tokens to an encoder; both share weights.

    Its outputs are logits (batch, length): above 0 for tokens predicted as replaced.
    """
    encoder = with_global_tokens(encoder, "none")
    config = config_of(encoder)
    transform = ReplacedTokenTransform(config.activation, config.initializer_range, name="replaced_token_transform")
    logits = Dense(1, config.initializer_range, name=HEAD)(transform(sequence_output(encoder)))
    flat = keras.layers.Reshape((-1,), name="replaced_token_logits")(logits)
    return keras.Model(encoder.input, flat, name="discriminator")


def build_joint(discriminator: keras.Model, settings: Generator, *, mask_decoder: bool = False) -> keras.Model:
    """Builds ELECTRA's training model: a new generator and a discriminator, which are trained jointly.

    The discriminator, a model as `build_replaced_tokens` returns it, becomes part of the result; call
    `separate_discriminator` after training. With gradient-disentangled embeddings (He et al. 2023, section 3.3) its
    embedding tables are copied to the generator, and its own tables then contain the differences from these.

    The inputs are those of the discriminator for masked texts, and `mask_positions`, `mask_ids` and `mask_weights`
    (batch, predictions). The outputs are the logits `masked_tokens` (batch, predictions, vocabulary) and
    `replaced_tokens` (batch, length), and the labels `is_replaced`, int32 (batch, length).
    """
    generator = _build_generator(discriminator, settings, mask_decoder)
    inputs = {
        **{name: keras.Input((None,), dtype="int32", name=name) for name in generator.input},
        "mask_ids": keras.Input((None,), dtype="int32", name="mask_ids"),
        "mask_weights": keras.Input((None,), dtype="float32", name="mask_weights"),
    }
    scores = generator({name: inputs[name] for name in generator.input})["masked_tokens"]
    masked = [inputs[name] for name in ("token_ids", "mask_positions", "mask_ids", "mask_weights")]
    token_ids, is_replaced = TokenReplacement(name="token_replacement")(scores, *masked)
    read = {**{name: inputs[name] for name in discriminator.input}, "token_ids": token_ids}
    outputs = {"masked_tokens": scores, "replaced_tokens": discriminator(read), "is_replaced": is_replaced}
    return keras.Model(inputs, outputs, name="replaced_tokens")


def separate_discriminator(joint: keras.Model) -> None:
    """Makes the discriminator of a model of `build_joint` independent of the generator, in place.

    It adds the generator's embeddings to gradient-disentangled embeddings; other embeddings are not changed.
    """
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


def _disentangle(layer: keras.layers.Layer, base: keras.layers.Layer) -> None:
    """Makes a layer's table the sum of the base layer's table, without its gradient, and a difference, initially 0."""
    base.embeddings.assign(layer.embeddings)
    layer.embeddings.assign(ops.zeros_like(layer.embeddings.value))
    layer.table_transform = lambda difference: ops.add(difference, ops.stop_gradient(base.embeddings))
