"""The encoder against a second one, written in NumPy from the papers."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert.core.config import EncoderConfig
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.layers.attention import SelfAttention
from keras_bert.models.encoder import build_encoder, encoder_of
from keras_bert.models.pretraining import build_pretraining
from tests.keras_bert.tiny import SIZES

# The epsilon is large enough to be seen.
SETTINGS = {**SIZES, "layer_norm_epsilon": 0.01}


def randomize(model, seed=0):
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(scale=0.5, size=weight.shape))


def make_inputs(batch=3, length=7, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, length + 1, batch)
    return {
        "token_ids": rng.integers(0, 20, (batch, length)).astype("int32"),
        "segment_ids": rng.integers(0, 2, (batch, length)).astype("int32"),
        "padding_mask": (np.arange(length) < lengths[:, None]).astype("int32"),
    }


def dense(x, weights, name):
    return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def layer_norm(x, weights, name, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
    return scaled * weights[f"{name}/gamma"] + weights[f"{name}/beta"]


def attention(x, mask, weights, name, num_heads, values=None):
    """One row and one head at a time; padding is left out, not hidden."""
    result = np.zeros_like(x)
    query, key = (dense(x, weights, f"{name}/{part}") for part in ("query", "key"))
    value = dense(x if values is None else values, weights, f"{name}/value")
    size = x.shape[-1] // num_heads
    for row in range(len(x)):
        real = mask[row] == 1
        for head in range(num_heads):
            part = slice(head * size, (head + 1) * size)
            scores = query[row, :, part] @ key[row, real, part].T / math.sqrt(size)
            shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
            result[row, :, part] = shares / shares.sum(axis=-1, keepdims=True) @ value[row, real, part]
    return dense(result, weights, f"{name}/output_projection")


ACTIVATIONS = {
    "gelu_erf": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def reference_encoder(config, weights, inputs):
    mask, epsilon = inputs["padding_mask"], config.layer_norm_epsilon
    x = weights["token_embedding/embeddings"][inputs["token_ids"]]
    x = x + weights["segment_embedding/embeddings"][inputs["segment_ids"]]
    x = x + weights["position_embedding/embeddings"][: mask.shape[1]]
    x = layer_norm(x, weights, "embeddings_norm", epsilon)
    for block in (f"block_{index}" for index in range(config.num_layers)):
        attended = attention(x, mask, weights, f"{block}/attention", config.num_heads)
        x = layer_norm(x + attended, weights, f"{block}/attention_norm", epsilon)
        inner = ACTIVATIONS[config.activation](dense(x, weights, f"{block}/feed_forward/intermediate"))
        transformed = dense(inner, weights, f"{block}/feed_forward/output_projection")
        x = layer_norm(x + transformed, weights, f"{block}/feed_forward_norm", epsilon)
    return {"sequence_output": x, "pooled_output": np.tanh(dense(x[:, 0], weights, "pooler/dense"))}


def weights_of(model):
    return {weight.path: weight.numpy().astype("float64") for weight in model.trainable_weights}


@pytest.fixture(scope="module")
def encoder():
    model = build_encoder(EncoderConfig(**SETTINGS))
    randomize(model)
    return model


def test_attention_against_numpy():
    x, mask = np.random.default_rng(1).normal(size=(3, 7, 8)), make_inputs()["padding_mask"]
    layer = SelfAttention(2, name="attention")
    bias = ((1 - mask) * -120.0).astype("float32")[:, None, None, :]
    layer(x.astype("float32"), bias)
    randomize(layer)
    expected = attention(x, mask, weights_of(layer), "attention", 2)
    np.testing.assert_allclose(layer(x.astype("float32"), bias), expected, atol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_forward_against_numpy(activation):
    config = EncoderConfig(**SETTINGS, activation=activation)
    model, inputs = build_encoder(config), make_inputs()
    randomize(model)
    expected, result = reference_encoder(config, weights_of(model), inputs), model(inputs)
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(result[name], expected[name], atol=2e-5)


def test_padding_and_other_rows_of_a_batch_change_nothing(encoder):
    inputs = make_inputs(batch=4, length=5)
    inputs["padding_mask"][:] = 1
    expected = encoder(inputs)
    rng = np.random.default_rng(2)
    padded = {
        name: np.concatenate([inputs[name], rng.integers(0, high, (4, 4))], axis=1).astype("int32")
        for name, high in zip(INPUT_NAMES, (20, 2, 1), strict=True)
    }
    result = encoder(padded)
    np.testing.assert_allclose(result["sequence_output"][:, :5], expected["sequence_output"], atol=2e-6)
    np.testing.assert_allclose(result["pooled_output"], expected["pooled_output"], atol=2e-6)
    inputs = make_inputs(batch=4)
    together = encoder(inputs)["pooled_output"]
    for row in range(4):
        alone = encoder({name: array[row : row + 1] for name, array in inputs.items()})["pooled_output"]
        np.testing.assert_allclose(alone[0], together[row], atol=2e-6)


# The shortest row is [CLS] [SEP]; of one token Keras warns, as its softmax is always 1.
@pytest.mark.parametrize("length", [2, 8, 9])
def test_any_length(encoder, length):
    inputs = {name: np.ones((2, length), "int32") for name in INPUT_NAMES}
    assert encoder(inputs)["sequence_output"].shape == (2, length, 8)


def test_inputs_and_outputs_have_their_names_types_and_lengths(encoder):
    inputs = {name: np.ones((2, 10), "int32") for name in INPUT_NAMES}
    with pytest.raises(ValueError, match="at most max_length=9 tokens, got 10"):
        encoder(inputs)
    assert encoder.input.keys() == set(INPUT_NAMES)
    assert {(spec.dtype, spec.shape) for spec in encoder.inputs} == {("int32", (None, None))}
    assert {name: spec.shape for name, spec in encoder.output.items()} == {
        "sequence_output": (None, None, 8),
        "pooled_output": (None, 8),
    }


def test_refuses_long_inputs_of_unknown_length(encoder):
    tf = pytest.importorskip("tensorflow", reason="only TensorFlow compiles for any length")
    unknown = [tf.TensorSpec((None, None), tf.int32)] * 3
    run = tf.function(lambda *arrays: encoder(dict(zip(INPUT_NAMES, arrays, strict=True))), input_signature=unknown)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(*[np.ones((2, 10), "int32")] * 3)


def test_the_encoder_inside_a_model_shares_its_weights():
    model, inputs = build_pretraining(build_encoder(EncoderConfig(**SETTINGS))), make_inputs()
    inner = encoder_of(model)
    randomize(model, seed=3)
    assert {id(weight) for weight in inner.weights} < {id(weight) for weight in model.weights}
    expected = reference_encoder(EncoderConfig(**SETTINGS), weights_of(model), inputs)
    np.testing.assert_allclose(inner(inputs)["pooled_output"], expected["pooled_output"], atol=2e-5)


def test_mixed_precision_stays_close():
    inputs, exact = make_inputs(), build_encoder(EncoderConfig(**SETTINGS))
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        coarse = build_encoder(EncoderConfig(**SETTINGS))
    finally:
        keras.config.set_dtype_policy("float32")
    coarse.set_weights(exact.get_weights())
    result = coarse(inputs)["sequence_output"]
    assert keras.backend.standardize_dtype(result.dtype) == "bfloat16"
    np.testing.assert_allclose(ops.cast(result, "float32"), exact(inputs)["sequence_output"], atol=0.1)
