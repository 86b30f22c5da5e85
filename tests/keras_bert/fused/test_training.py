import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.adaptation.adapter import Adapter
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.layers import RotaryAttention
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.fused.block import compiled_update
from keras_bert.fused.layers import fused_blocks
from keras_bert.fused.pretraining import FusedPretrainingObjective
from keras_bert.layers.dense import Dense
from keras_bert.layers.dropout import Dropout
from keras_bert.models.encoder import blocks_of, build_encoder
from keras_bert.models.optimizer import adamw
from keras_bert.models.pretraining import add_span_boundary, build_pretraining
from keras_bert.objectives.pretraining import PretrainingObjective
from keras_bert.options.adaptation import Adapters, Lora
from keras_bert.training.precision import computing_in
from tests.keras_bert.models.test_encoder import make_inputs, randomize
from tests.keras_bert.objectives.test_pretraining import BATCH
from tests.keras_bert.tiny import tiny_config

TEXT = make_inputs()


def make_model(activation="gelu_tanh", dropout=0.0):
    config = tiny_config(layer_norm_epsilon=0.01, activation=activation, dropout=dropout, attention_dropout=dropout)
    model = build_pretraining(build_encoder(config))
    randomize(model)
    return model


def differentiate(model, objective):
    """Sums, and the gradient of the losses' sum, from a traced step."""

    @tf.function
    def step(batch):
        with tf.GradientTape() as tape:
            sums = objective(model, batch, True)
            loss = sums["masked_loss"][0] + sums["next_sentence_loss"][0]
        gradients = tape.gradient(loss, [weight.value for weight in model.trainable_variables])
        return sums, [tf.convert_to_tensor(gradient) for gradient in gradients]

    return step({name: tf.constant(array) for name, array in BATCH.items()})


@pytest.mark.parametrize("activation", ["gelu_tanh", "gelu_erf", "relu"])
def test_sums_and_gradients_are_those_of_the_plain_model(activation):
    model = make_model(activation)
    expected = differentiate(model, PretrainingObjective())
    with fused_blocks(model):
        results = differentiate(model, FusedPretrainingObjective(model))
    compare(model, results, expected)


def compare(model, results, expected):
    assert results[0].keys() == expected[0].keys()
    for name in expected[0]:
        np.testing.assert_allclose(results[0][name], expected[0][name], rtol=1e-5)
    largest = max(np.abs(gradient).max() for gradient in expected[1])
    for weight, one, other in zip(model.trainable_variables, results[1], expected[1], strict=True):
        # That of a key's bias is nothing but rounding: it moves all scores of a query alike.
        scale = max(np.abs(other).max(), 1e-2 * largest)
        np.testing.assert_allclose(one / scale, other / scale, atol=2e-5, err_msg=weight.path)


# BigBird has an attention of its own, which must stay.
VARIANTS = [
    ({"num_layers": 1}, DeBERTa(position_buckets=4, max_distance=8)),
    ({"num_layers": 1, "num_segments": 0}, ModernBERT(window=4)),
    ({"num_layers": 1, "embedding_size": 3}, MobileBERT(bottleneck_size=4, feed_forwards=2)),
    ({"num_layers": 1}, BigBird(block_size=1, random_blocks=0)),
]


@pytest.mark.parametrize(("shape", "variant"), VARIANTS, ids=lambda value: getattr(value, "kind", ""))
def test_other_families_are_those_of_the_plain_model(shape, variant):
    config = tiny_config(layer_norm_epsilon=0.01, dropout=0.0, attention_dropout=0.0, variant=variant, **shape)
    model = build_pretraining(build_encoder(config))
    randomize(model)
    expected = differentiate(model, PretrainingObjective())
    # Every layer with a program is restored behind the block.
    before = [dict(vars(layer)) for layer in model._flatten_layers()]
    with fused_blocks(model):
        changed = [
            type(layer) for layer, old in zip(model._flatten_layers(), before, strict=True) if vars(layer) != old
        ]
        assert {Dropout, Dense} <= set(changed)
        results = differentiate(model, FusedPretrainingObjective(model))
    assert [dict(vars(layer)) for layer in model._flatten_layers()] == before
    compare(model, results, expected)


LAYERS = ("query", "key", "value", "output_projection", "intermediate")


@pytest.mark.parametrize("kind", [Lora(rank=2, layers=LAYERS), Adapters(size=3)])
def test_with_adapters_as_without_fusion(kind):
    model = make_model()
    adapter = Adapter(model, kind)
    adapter.attach()
    randomize(model)
    expected = differentiate(model, PretrainingObjective())
    with fused_blocks(model):
        results = differentiate(model, FusedPretrainingObjective(model))
    largest = max(np.abs(gradient).max() for gradient in expected[1])
    assert len(model.trainable_variables) == len(adapter.weights()) < len(model.weights)
    for weight, one, other in zip(model.trainable_variables, results[1], expected[1], strict=True):
        np.testing.assert_allclose(one / largest, other / largest, atol=5e-6, err_msg=weight.path)


def test_the_output_matrix_of_a_bottleneck_encoder_has_further_columns():
    variant = MobileBERT(bottleneck_size=4, feed_forwards=1)
    config = tiny_config(num_layers=1, embedding_size=3, attention_dropout=0.0, dropout=0.0, variant=variant)
    model = build_pretraining(build_encoder(config))
    randomize(model)
    expected, actual = (
        objective(model, BATCH, True) for objective in (PretrainingObjective(), FusedPretrainingObjective(model))
    )
    for name in expected:
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-5)


def test_span_boundaries_are_those_of_the_plain_model():
    model = add_span_boundary(make_model())
    randomize(model)
    batch = {**BATCH, "mask_positions": np.array([[1, 2], [4, 0], [2, 5]], "int32")}
    options = {"next_sentence": False, "span_boundary": True}
    plain, fused = PretrainingObjective(**options), FusedPretrainingObjective(model, **options)
    expected, actual = plain(model, batch, False), fused(model, batch, False)
    assert actual.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-5)
    assert {name: float(weight) for name, weight in fused.weights(batch).items()} == {
        name: float(weight) for name, weight in plain.weights(batch).items()
    }


def test_bfloat16_is_close():
    model = make_model()
    expected, gradients = differentiate(model, PretrainingObjective())
    with computing_in(model, "bfloat16"), fused_blocks(model):
        results, others = differentiate(model, FusedPretrainingObjective(model))
    for name in ("masked_loss", "next_sentence_loss"):
        assert float(results[name][0]) == pytest.approx(float(expected[name][0]), rel=0.03)
    for weight, one, other in zip(model.trainable_variables, others, gradients, strict=True):
        assert one.dtype == "float32"
        assert np.linalg.norm(one - other) < 0.1 * np.linalg.norm(other) + 1e-3, weight.path


def test_dropout_follows_the_layers_seeds():
    model = make_model(dropout=0.5)
    inputs = {**TEXT, "mask_positions": BATCH["mask_positions"]}
    states = [variable.numpy() for variable in model.non_trainable_variables]

    def run():
        for variable, state in zip(model.non_trainable_variables, states, strict=True):
            variable.assign(state)
        call = tf.function(lambda: model(inputs, training=True)["masked_tokens"])
        return call().numpy(), call().numpy(), [variable.numpy() for variable in model.non_trainable_variables]

    with fused_blocks(model):
        first, second, after = run()
        np.testing.assert_array_equal(first, run()[0])
        assert np.abs(first - second).max() > 0.01
    plain = run()
    np.testing.assert_array_equal(after, plain[2])
    assert np.abs(first - plain[0]).max() > 0.01


def test_the_rates_are_those_of_the_layers():
    model = make_model(dropout=0.5)
    inputs = {**TEXT, "mask_positions": BATCH["mask_positions"]}
    for layer in model._flatten_layers():
        if isinstance(layer, Dropout):
            layer.rate = 0.0
    with fused_blocks(model):
        logits = model(inputs, training=True)["masked_tokens"]
    np.testing.assert_allclose(logits, model(inputs)["masked_tokens"], atol=1e-5)


def test_models_of_two_widths_share_a_process():
    for width in (8, 12):
        states, bias = keras.Input((None, width)), keras.Input((1, 1, None))
        model = keras.Model([states, bias], RotaryAttention(2, 100.0)(states, bias))
        inputs = [np.random.default_rng(0).normal(size=(2, 5, width)), np.zeros((2, 1, 1, 5))]
        with fused_blocks(model):
            fused = model(inputs, training=True)
        np.testing.assert_allclose(fused, model(inputs, training=True), atol=1e-6)


def test_only_within_only_in_training_and_only_of_its_model():
    model = make_model(dropout=0.5)
    inputs = {**TEXT, "mask_positions": BATCH["mask_positions"]}
    expected = model(inputs)["masked_tokens"]
    config = model.to_json()
    with fused_blocks(model):
        np.testing.assert_array_equal(model(inputs)["masked_tokens"], expected)
        assert model.to_json() == config
        assert all(block.training_call for block in blocks_of(model))
    assert not any(block.training_call for block in blocks_of(model))
    objective = FusedPretrainingObjective(make_model())
    assert objective.identity() == {"class": "FusedPretrainingObjective", "next_sentence": True, "span_boundary": False}
    with pytest.raises(ValueError, match="model must be the one"):
        objective(make_model(), BATCH, True)


def test_transforms_are_honoured():
    model = make_model()
    block = blocks_of(model)[0]
    inputs = {**TEXT, "mask_positions": BATCH["mask_positions"]}
    with fused_blocks(model):
        for owner, name, transform in (
            (block.attention.scores_tap, "transform", lambda x, training: 0.0 * x),
            (block.feed_forward.intermediate, "kernel_transform", lambda kernel: 0.0 * kernel),
        ):
            before = model(inputs, training=True)["masked_tokens"]
            setattr(owner, name, transform)
            logits = model(inputs, training=True)["masked_tokens"]
            assert np.abs(logits - before).max() > 1e-3
            np.testing.assert_allclose(logits, model(inputs)["masked_tokens"], atol=1e-5)
            setattr(owner, name, None)


def test_compiled_update_is_the_optimizers():
    gradients = [np.float32(values) for values in ([[1.0, -2.0]], [3.0])]
    results = []
    for compiled in (False, True):
        weights = [keras.Variable(np.float32(values)) for values in ([[0.5, 0.25]], [1.0])]
        optimizer = adamw(0.1, 10, clip_norm=None)
        optimizer.build(weights)
        for _ in range(3):
            if compiled:
                compiled_update(optimizer, weights)([tf.constant(gradient) for gradient in gradients], tf.constant(0.5))
            else:
                optimizer.apply([tf.constant(0.5 * gradient) for gradient in gradients], weights)
        results.append([weight.numpy() for weight in [*weights, *optimizer.variables]])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
