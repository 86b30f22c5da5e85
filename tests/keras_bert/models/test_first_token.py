"""What nobody reads is not computed, and the answers stay."""

import dataclasses
import itertools

import keras
import numpy as np
import pytest

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.gated.settings import Gated
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.pre_norm.settings import PreNorm
from keras_bert.layers.tap import recording
from keras_bert.models.encoder import PROMPT_PLACES, TOKEN_STATES, blocks_of, build_encoder, input_names
from keras_bert.models.first_token import skip_unused_tokens
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.embedding import build_embedder
from keras_bert.tasks.question_answering import build_span_classifier
from keras_bert.tasks.regression import build_regressor
from keras_bert.tasks.token_classification import build_tagger
from tests.keras_bert.models.test_encoder import SETTINGS, make_inputs, randomize
from tests.samples import long_but

CONFIG = EncoderConfig(**{**SETTINGS, "num_layers": 3})


def other(variant, **settings):
    return dataclasses.replace(CONFIG, num_segments=0, variant=variant, **settings)


# As RoBERTa, ALBERT, ELECTRA, DistilBERT and TinyBERT differ from BERT.
CONFIGS = {
    "bert": CONFIG,
    "one layer": dataclasses.replace(CONFIG, num_layers=1),
    "shared layers, factorized": dataclasses.replace(CONFIG, shared_layers=True, embedding_size=4),
    "one segment, positions moved": dataclasses.replace(CONFIG, num_segments=1, position_offset=2, max_length=12),
    "another pooler": dataclasses.replace(CONFIG, pooler_activation="relu", pooler_dropout=0.1),
    "no pooler's product": dataclasses.replace(CONFIG, pooler_activation="none"),
    "narrow attention": dataclasses.replace(CONFIG, attention_size=4),
}
GRAPHS = {
    "deberta": other(DeBERTa(max_distance=16, position_buckets=4)),
    "deberta v1": other(
        DeBERTa(
            max_distance=4, position_buckets=0, shared_projections=False, normalized_positions=False, key_bias=False
        )
    ),
    "deberta, one layer, keys have positions": other(DeBERTa(position_to_content=False), num_layers=1),
    "deberta, queries have positions": other(DeBERTa(content_to_position=False)),
    "deberta, convolution": other(DeBERTa(convolution=3), num_layers=2),
    "deberta, shared layers": other(DeBERTa(), shared_layers=True),
    "gated": other(Gated()),
    "gated, linear": other(Gated(positions="linear")),
    "pre norm": other(PreNorm()),
    "mpnet": other(MPNet(position_buckets=4)),
    "modernbert, local": other(ModernBERT(window=4)),
    "modernbert, global": other(ModernBERT(window=4), num_layers=4),
    "modernbert, one layer": other(ModernBERT(), num_layers=1),
    "modernbert, one local layer": other(ModernBERT(window=2, global_layers=()), num_layers=1),
    "mobilebert": other(MobileBERT(bottleneck_size=4), embedding_size=4),
    "mobilebert, one layer": other(MobileBERT(bottleneck_size=4), embedding_size=4, num_layers=1),
    "mobilebert tiny": other(
        MobileBERT(bottleneck_size=4, feed_forwards=1, bottleneck_attention=True, normalization="layer_norm"),
        embedding_size=4,
    ),
    "bigbird": other(BigBird(block_size=1, random_blocks=1)),
    "bigbird, full attention": other(BigBird()),
}


def inputs_of(model):
    return {name: values for name, values in make_inputs().items() if name in input_names(model)}


def answers(model):
    return np.asarray(model(inputs_of(model), training=False))


def rows_of_last_layer(model, source):
    """How many rows pass the last call of the last feed-forward layer."""
    tap = blocks_of(source)[-1].feed_forward.output_projection.output_tap
    with recording([tap]) as seen:
        answers(model)
    return seen[tap][-1].shape[0]


def vectors_of(encoder, pooling):
    return keras.Model(encoder.input, build_embedder(encoder, pooling=pooling).output["embedding"])


def check_first_token_alone(model):
    """The same answers, from one row in place of all in the last layer."""
    randomize(model)
    shortened = skip_unused_tokens(model)
    np.testing.assert_allclose(answers(shortened), answers(model), rtol=0, atol=1e-6)
    batch, length = make_inputs()["token_ids"].shape
    assert (rows_of_last_layer(model, model), rows_of_last_layer(shortened, model)) == (batch * length, batch)


HEADS = {
    "classes": lambda encoder: build_classifier(encoder, 3),
    "a number": build_regressor,
    "vectors": lambda encoder: vectors_of(encoder, "cls"),
}
# Each configuration with the pooler, and each head.
ALWAYS = [*((config, "classes") for config in CONFIGS), ("bert", "a number"), ("bert", "vectors")]


@pytest.mark.parametrize("case", long_but(ALWAYS, itertools.product(CONFIGS, HEADS)), ids="-".join)
def test_heads_on_the_first_token_answer_alike_without_the_others(case):
    config, head = case
    check_first_token_alone(HEADS[head](build_encoder(CONFIGS[config])))


@pytest.mark.parametrize(
    "graph", long_but(["deberta", "deberta v1", "modernbert, local", "mobilebert", "bigbird"], GRAPHS)
)
def test_other_graphs_than_berts_answer_alike(graph):
    check_first_token_alone(build_classifier(build_encoder(GRAPHS[graph]), 3))


def test_a_local_last_layer_reads_the_window_of_the_first_token_alone():
    model = build_classifier(build_encoder(other(ModernBERT(window=4))), 3)
    attention = blocks_of(model)[-1].attention
    with recording([attention.probabilities_tap]) as seen:
        answers(skip_unused_tokens(model))
    # The first token and the two behind it.
    assert seen[attention.probabilities_tap][-1].shape == (3, 2, 1, 3)


@pytest.mark.parametrize(
    "build",
    [
        lambda encoder: encoder,
        lambda encoder: build_classifier(encoder, 3, pooling="mean"),
        lambda encoder: build_embedder(encoder, pooling="cls"),
        lambda encoder: vectors_of(encoder, "mean"),
        lambda encoder: build_tagger(encoder, 3),
        lambda encoder: build_span_classifier(encoder),
    ],
    ids=["encoder", "mean", "vectors and states", "vectors of the mean", "tags", "answers"],
)
def test_models_that_read_other_tokens_stay(build):
    model = build(build_encoder(CONFIG))
    assert skip_unused_tokens(model) is model


def test_nested_encoders_longformer_and_prompts_stay():
    encoder = build_encoder(CONFIG)
    model = keras.Model(encoder.input, keras.layers.Dense(3)(encoder(encoder.input)["pooled_output"]))
    assert skip_unused_tokens(model) is model
    model = build_classifier(build_encoder(dataclasses.replace(CONFIG, num_segments=1, variant=Longformer())), 3)
    assert skip_unused_tokens(model) is model
    model = build_classifier(build_encoder(CONFIG), 3)
    for border in (PROMPT_PLACES, TOKEN_STATES):
        model.get_layer(border).tokens = 2
    assert skip_unused_tokens(model) is model
