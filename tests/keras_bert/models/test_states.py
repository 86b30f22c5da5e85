"""What is read of a model is what its parts compute when they are called one after the other."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.adaptation.adapter import Adapter
from keras_bert.core.config import EncoderConfig
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.gated.settings import Gated
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.pre_norm.settings import PreNorm
from keras_bert.layers.attention import SelfAttention
from keras_bert.layers.encoder_block import EncoderBlock
from keras_bert.models.encoder import blocks_of, build_encoder
from keras_bert.models.states import ATTENTION_TENSORS, AttentionReader, attention_layout, hidden_states
from keras_bert.options.adaptation import Lora, Prompt
from tests.keras_bert.models.test_encoder import SETTINGS, make_inputs, randomize

NO_SEGMENTS = {"num_segments": 0}
GRAPHS = {
    "bert": {},
    "albert": {"embedding_size": 6, "shared_layers": True, "num_layers": 3},
    "gated": {"variant": Gated()},
    "pre norm": {"variant": PreNorm(embeddings_norm=False)},
    "mpnet": {"variant": MPNet(position_buckets=4), **NO_SEGMENTS},
    "modernbert": {"variant": ModernBERT(global_every=2, window=4), **NO_SEGMENTS},
    "deberta": {"variant": DeBERTa(position_buckets=4, convolution=3), **NO_SEGMENTS},
    "shared deberta": {"variant": DeBERTa(position_buckets=4), "shared_layers": True, **NO_SEGMENTS},
    "mobilebert": {
        "variant": MobileBERT(bottleneck_size=4, feed_forwards=2),
        "embedding_size": 6,
        "activation": "relu",
    },
}


def build(graph, **changes):
    model = build_encoder(EncoderConfig(**{**SETTINGS, **GRAPHS[graph], **changes}), pooler=False)
    randomize(model, seed=2)
    return model


def inputs_of(model):
    inputs = make_inputs()
    return {spec.name: inputs[spec.name] for spec in model.inputs}


def read_all(model):
    layers = range(attention_layout(model).layers)
    return AttentionReader(model, dict.fromkeys(ATTENTION_TENSORS, layers)).run(inputs_of(model), training=False)


@functools.cache
def read_graph(graph):
    """The model of a graph, which no test changes, its outputs, and what is read of its layers."""
    model = build(graph)
    return model, *read_all(model)


@pytest.mark.parametrize("graph", GRAPHS)
def test_states_are_what_blocks_read_and_what_the_encoder_gives(graph):
    model = build(graph)
    inputs = inputs_of(model)
    layer_states = keras.Model(model.input, hidden_states(model))(inputs)
    layers, read = attention_layout(model).layers, []
    for block in blocks_of(model):
        block.call = _noting(read, block.call)
    final = model(inputs)["sequence_output"]
    assert len(layer_states) == layers + 1 == len(read) + 1
    for states, expected in zip(layer_states, [*read, final], strict=True):
        np.testing.assert_allclose(states, expected, rtol=1e-6)


def _noting(read, call):
    def noting(inputs, *further, **options):
        read.append(inputs)
        return call(inputs, *further, **options)

    return noting


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_tells_all(graph):
    model, outputs, layer_states = read_graph(graph)
    layout = attention_layout(model)
    width = 4 if graph == "mobilebert" else 8
    layers = 3 if graph == "albert" else 2
    kinds = {"modernbert": "RotaryAttention", "deberta": "DeBERTaAttention", "gated": "GatedAttention"}
    kind = kinds.get(graph.removeprefix("shared "), "SelfAttention")
    assert layout == (layers, 2, width, frozenset(), kind)
    np.testing.assert_array_equal(outputs["sequence_output"], model(inputs_of(model))["sequence_output"])
    assert {kind: len(tensors) for kind, tensors in layer_states.items()} == dict.fromkeys(ATTENTION_TENSORS, layers)
    batch, length = make_inputs()["token_ids"].shape
    for kind, tensors in layer_states.items():
        shape = (batch, 2, length, length) if kind == "scores" else (batch, length, width)
        assert {tuple(tensor.shape) for tensor in tensors} == {shape}
        # Each layer, also a shared one, reads other states.
        assert not np.allclose(tensors[0], tensors[1], atol=1e-3)
    assert all(tap.transform is None for block in blocks_of(model) for tap in (block.attention.scores_tap,))


def test_scores_are_those_of_queries_and_keys_that_are_read():
    _, _, tensors = read_graph("bert")
    bias = ((1 - make_inputs()["padding_mask"]) * -120.0)[:, None, None, :]
    for query, key, scores in zip(tensors["query"], tensors["key"], tensors["scores"], strict=True):
        heads = [np.asarray(states).reshape(3, -1, 2, 4).transpose(0, 2, 1, 3) for states in (query, key)]
        np.testing.assert_allclose(scores, heads[0] @ heads[1].swapaxes(2, 3) / 2 + bias, atol=1e-4)


@pytest.mark.parametrize("variant", [Longformer(window=2), BigBird(block_size=2, random_blocks=1)])
def test_scores_of_windows_and_blocks_are_not_those_of_all_pairs(variant):
    model = build_encoder(EncoderConfig(**SETTINGS, variant=variant), pooler=False)
    assert attention_layout(model).unreadable == {"scores"}


@pytest.mark.parametrize("graph", GRAPHS)
def test_products_are_the_layers_own(graph):
    # In all graphs, in shared blocks, and where positions go through the same products.
    model, _, tensors = read_graph(graph)
    states = keras.Model(model.input, hidden_states(model))(inputs_of(model))
    blocks = blocks_of(model) * attention_layout(model).layers
    for layer, value in enumerate(tensors["value"]):
        attention = blocks[layer].attention
        if graph == "modernbert":
            read = blocks[layer].attention_norm(states[layer]) if layer else states[layer]
            expected = np.split(attention.query_key_value(read), 3, axis=-1)[2]
        else:
            normalize = blocks[layer].attention_norm if graph == "pre norm" else lambda states: states
            expected = attention.value(normalize(states[layer]))
        np.testing.assert_allclose(value, expected, atol=1e-5)


def test_a_prompt_is_left_out():
    model = build("bert", max_length=12)
    adapter = Adapter(model, Prompt(tokens=2))
    adapter.attach()
    inputs = inputs_of(model)
    batch, length = inputs["token_ids"].shape
    layer_states = keras.Model(model.input, hidden_states(model))(inputs)
    assert {tuple(states.shape) for states in layer_states} == {(batch, length, 8)}
    table = model.get_layer("token_embedding")
    assert attention_layout(model).unreadable == frozenset()
    _, attended = read_all(model)
    assert {tuple(scores.shape) for scores in attended["scores"]} == {(batch, 2, length, length)}
    np.testing.assert_allclose(attended["key"][0], blocks_of(model)[0].attention.key(layer_states[0]), atol=1e-5)
    assert table.adapter is not None


def test_states_below_adapters_and_scores_of_some_pairs_are_not_read(monkeypatch):
    model = build("bert")
    Adapter(model, Lora(rank=2)).attach()
    assert attention_layout(model).unreadable == {"query", "value"}
    monkeypatch.setattr(SelfAttention, "scores_all_pairs", False)
    assert attention_layout(build("bert", num_layers=1)).unreadable == {"scores"}


def test_an_attention_without_a_matrix_of_scores_is_told_by_its_shape(monkeypatch):
    model = build("bert", num_layers=1)
    attention = blocks_of(model)[0].attention

    def in_chunks(query, key, value, attention_bias, training):
        # Of the first two tokens alone, as one of windows in chunks.
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))[:, :, :, :2]
        return ops.matmul(attention._attention_probabilities(scores, training), value[:, :, :2])

    monkeypatch.setattr(attention, "_attend", in_chunks)
    assert attention_layout(model).unreadable == {"scores"}


def test_blocks_that_nobody_reads_stay_fused():
    model, calls = build("bert"), []

    def fused(block):
        def call(inputs, bias):
            calls.append(block.name)
            return inputs

        return call

    for block in blocks_of(model):
        assert isinstance(block, EncoderBlock)
        block.training_call = fused(block)
    AttentionReader(model, {"query": [1]}).run(inputs_of(model), training=True)
    assert calls == ["block_0"]
