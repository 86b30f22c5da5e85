import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.compress.quantization_parameters import (
    QuantizationParameters,
    quantized_activations,
    read_quantization,
)
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.compress.ranges import fixed_ranges, sublayers, taps
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.layers.dense import Dense
from keras_bert.models.saving import load_model, save_model
from tests import forked
from tests.keras_bert.compress import tiny


@pytest.fixture(scope="module")
def finished():
    model = tiny.build()
    tiny.train(model, epochs=3)
    quantized_activations = QuantizationAware(model, tiny.batches())
    before = quantized_activations.ranges()
    tiny.train(model, epochs=1)
    answers = model.predict(tiny.make_rows(64, seed=9)[0], verbose=0)
    return model, quantized_activations.finish(), before, answers


def kernels(model):
    heads = {"classifier"}
    return {path: layer.kernel for path, layer in sublayers(model, Dense).items() if path not in heads}


def test_finished_kernels_lie_on_symmetric_int8_grids_one_a_column(finished):
    model, *_ = finished
    assert len(kernels(model)) == 7
    for kernel in kernels(model).values():
        values = kernel.numpy().astype(np.float64)
        steps = values / (np.abs(values).max(axis=0) / 127)
        np.testing.assert_allclose(steps, steps.round(), atol=1e-4)
        assert np.abs(steps.round()).max() == 127


def test_a_second_rounding_changes_nothing(finished):
    model, *_ = finished
    before = {path: kernel.numpy() for path, kernel in kernels(model).items()}
    QuantizationAware(model, tiny.batches(1)).finish()
    for path, kernel in kernels(model).items():
        np.testing.assert_allclose(kernel.numpy(), before[path], rtol=1e-6, atol=1e-9)


def test_the_finished_table_lies_on_the_grid_of_its_range(finished):
    model, ranges, *_ = finished
    low, high = ranges["token_embedding/output_tap"]
    table = model.get_layer("token_embedding").embeddings.numpy()
    steps = table / ((high - low) / 255)
    np.testing.assert_allclose(steps, steps.round(), atol=2e-3)
    assert len(np.unique(steps.round())) > 100


def test_ranges_move_in_training_and_fixed_ranges_give_the_answers_of_the_end_of_training(finished):
    model, ranges, before, answers = finished
    assert ranges.keys() == before.keys()
    moved = [path for path in ranges if ranges[path] != before[path]]
    assert "embeddings_norm_tap" in moved
    rows = tiny.make_rows(64, seed=9)[0]
    with fixed_ranges(model, ranges):
        fixed = model.predict(rows, verbose=0)
    assert np.abs(fixed - answers).max() < 0.1
    assert (fixed.argmax(1) == answers.argmax(1)).mean() > 0.98
    assert all(tap.transform is None for tap in taps(model).values())


def test_a_rounded_model_still_learns(finished):
    model, ranges, *_ = finished
    rows, labels = tiny.make_rows(256, seed=5)
    with fixed_ranges(model, ranges):
        assert (model.predict(rows, verbose=0).argmax(1) == labels).mean() > 0.95


def test_the_finished_model_is_an_ordinary_file(finished, tmp_path):
    model, ranges, *_ = finished
    save_model(model, tmp_path / "model.keras")
    rounding = QuantizationParameters("mixed_wi8_ai8", ranges)
    rounding.save(tmp_path)
    loaded = load_model(tmp_path / "model.keras")
    assert read_quantization(tmp_path) == rounding
    rows = tiny.make_rows(8)[0]
    with fixed_ranges(model, ranges), quantized_activations(loaded, read_quantization(tmp_path)):
        np.testing.assert_array_equal(loaded.predict(rows, verbose=0), model.predict(rows, verbose=0))


def test_attention_sums_and_head_stay_float():
    ranges = QuantizationAware(tiny.build(), tiny.batches(1)).ranges()
    assert "block_0/attention/key/output_tap" in ranges
    assert "block_0/feed_forward/activation_tap" in ranges
    ends = ("classifier/output_tap", "scores_tap", "probabilities_tap", "sum_tap", "pooler/output_tap")
    assert not [path for path in ranges if path.endswith(ends)]


def test_gradients_pass_straight_through_in_a_compiled_step():
    model = tiny.build()
    QuantizationAware(model, tiny.batches(1))
    rows = tiny.make_rows(8)[0]

    @tf.function
    def gradients():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(rows, training=True) ** 2)
        return tape.gradient(loss, model.trainable_variables)

    actual_gradient = gradients()
    assert all(gradient is not None for gradient in actual_gradient)
    assert all(np.abs(tf.convert_to_tensor(gradient)).max() > 0 for gradient in actual_gradient[:1])


def test_inference_leaves_the_ranges_alone():
    model = tiny.build()
    quantized_activations = QuantizationAware(model, tiny.batches(1))
    before = quantized_activations.ranges()
    model(tiny.make_rows(8, seed=3)[0], training=False)
    assert quantized_activations.ranges() == before


def round_on_two_devices():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = tiny.build()
        quantized_activations = QuantizationAware(model, tiny.batches(1))
    before = quantized_activations.ranges()
    rows = tiny.make_rows(8)[0]
    tf.function(lambda: strategy.run(lambda: model(rows, training=True)))()
    assert quantized_activations.ranges() != before
    quantized_activations.finish()


def test_two_replicas_keep_one_range():
    forked.run(round_on_two_devices)


def test_half_precision_models_can_be_rounded():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = tiny.build()
    finally:
        keras.config.set_dtype_policy("float32")
    quantized_activations = QuantizationAware(model, tiny.batches(1))
    assert np.isfinite(np.asarray(tf.cast(model(tiny.make_rows(4)[0], training=True), tf.float32))).all()
    quantized_activations.finish()


def test_importing_tfmot_leaves_the_process_on_keras_3():
    assert "TF_USE_LEGACY_KERAS" not in os.environ
    code = "import os, keras_bert.compress.quantize; assert os.environ['TF_USE_LEGACY_KERAS'] == '0'"
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "0"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)


@pytest.mark.parametrize("kind", ["content_to_position", "position_to_content"])
def test_attention_without_one_kind_of_positions_has_a_range_at_each_tap(kind):
    model = tiny.build(variant=DeBERTa(max_distance=16, position_buckets=4, **{kind: False}), num_segments=0)
    batches = [{name: batch[name] for name in ("token_ids", "padding_mask")} for batch in tiny.batches()]
    ranges = QuantizationAware(model, batches, "static_wi8_ai8").finish()
    assert any("position_query_tap" in path for path in ranges) == (kind == "content_to_position")
    assert all(low < high for low, high in ranges.values())


def test_no_batches_are_refused():
    with pytest.raises(ValueError, match=r"QuantizationAware.batches must hold at least one batch"):
        QuantizationAware(tiny.build(), [])


@pytest.mark.parametrize("name", ["block_0/attention/key/kernel", "embeddings_norm/gamma"])
def test_a_weight_that_float16_cannot_hold(name):
    model = tiny.build()
    weight = next(weight for weight in model.weights if weight.path.endswith(name))
    values = weight.numpy()
    values.flat[0] = -70000.0
    weight.assign(values)
    message = rf"{name} must be from -65504\.0 to 65504\.0 as float16, got a weight of 70000$"
    with pytest.raises(ValueError, match=message):
        QuantizationAware(model, tiny.batches(1), "float16")
    left = QuantizationAware(model, tiny.batches(1), "float16", [name.rpartition("/")[0]]) if "key" in name else None
    assert left is None or len(left.kernels) == 7
