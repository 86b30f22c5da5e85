"""The grids against NumPy."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert.compress.fake_quantizers import ActivationQuantizer, Float16Kernel, KernelQuantizer, quantize_rows
from keras_bert.compress.quantization_parameters import (
    QUANTIZATION_FILE,
    QuantizationParameters,
    quantized_activations,
    read_quantization,
)
from keras_bert.compress.quantize import QuantizationAware
from keras_bert.compress.ranges import fixed_ranges, sublayers, taps
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.longformer.settings import Longformer
from keras_bert.layers.dense import Dense
from keras_bert.layers.tap import TapLayer
from keras_bert.models.encoder import build_encoder
from keras_bert.models.saving import load_model, save_model
from keras_bert.objectives.tasks import ClassificationObjective
from keras_bert.options.training import Training
from keras_bert.tasks.token_classification import build_tagger
from keras_bert.training.step import TrainingStep
from tests import forked
from tests.keras_bert.compress import tiny


@pytest.fixture(scope="module")
def finished():
    model = tiny.build()
    tiny.train(model, epochs=3)
    quantized_activations = QuantizationAware(model, tiny.batches())
    before = quantized_activations.ranges()
    tiny.train(model, epochs=1)
    answers = np.asarray(model(tiny.make_rows(64, seed=9)[0]))
    return model, quantized_activations.finish(), before, answers


def kernels(model):
    heads = {"classifier"}
    return {path: layer.kernel for path, layer in sublayers(model, Dense).items() if path not in heads}


def test_finished_weights_lie_on_their_grids_and_a_second_rounding_changes_nothing(finished):
    model, ranges, *_ = finished
    assert len(kernels(model)) == 7
    for kernel in kernels(model).values():
        values = kernel.numpy().astype(np.float64)
        steps = values / (np.abs(values).max(axis=0) / 127)
        np.testing.assert_allclose(steps, steps.round(), atol=1e-4)
        assert np.abs(steps.round()).max() == 127
    before = {path: kernel.numpy() for path, kernel in kernels(model).items()}
    QuantizationAware(model, tiny.batches(1)).finish()
    for path, kernel in kernels(model).items():
        np.testing.assert_allclose(kernel.numpy(), before[path], rtol=1e-6, atol=1e-9)
    low, high = ranges["token_embedding/output_tap"]
    table = model.get_layer("token_embedding").embeddings.numpy()
    steps = table / ((high - low) / 255)
    np.testing.assert_allclose(steps, steps.round(), atol=2e-3)
    assert len(np.unique(steps.round())) > 100


def test_fixed_ranges_give_the_answers_of_the_end_of_training(finished):
    model, ranges, before, answers = finished
    assert ranges.keys() == before.keys()
    moved = [path for path in ranges if ranges[path] != before[path]]
    assert "embeddings_norm_tap" in moved
    rows = tiny.make_rows(64, seed=9)[0]
    with fixed_ranges(model, ranges):
        fixed = np.asarray(model(rows))
    assert np.abs(fixed - answers).max() < 0.1
    assert (fixed.argmax(1) == answers.argmax(1)).mean() > 0.98
    assert all(tap.transform is None for tap in taps(model).values())
    rows, labels = tiny.make_rows(256, seed=5)
    with fixed_ranges(model, ranges):
        assert (np.asarray(model(rows)).argmax(1) == labels).mean() > 0.95


def test_the_finished_model_is_an_ordinary_file(finished, tmp_path):
    model, ranges, *_ = finished
    save_model(model, tmp_path / "model.keras")
    rounding = QuantizationParameters("mixed_wi8_ai8", ranges)
    rounding.save(tmp_path)
    loaded = load_model(tmp_path / "model.keras")
    assert read_quantization(tmp_path) == rounding
    rows = tiny.make_rows(8)[0]
    with fixed_ranges(model, ranges), quantized_activations(loaded, read_quantization(tmp_path)):
        np.testing.assert_array_equal(np.asarray(loaded(rows)), np.asarray(model(rows)))


def test_what_has_a_range_and_that_inference_leaves_it_alone():
    ranges = QuantizationAware(tiny.build(), tiny.batches(1)).ranges()
    assert "block_0/attention/key/output_tap" in ranges
    assert "block_0/feed_forward/activation_tap" in ranges
    ends = ("classifier/output_tap", "scores_tap", "probabilities_tap", "sum_tap", "pooler/output_tap")
    assert not [path for path in ranges if path.endswith(ends)]
    model = tiny.build()
    quantized_activations = QuantizationAware(model, tiny.batches(1))
    before = quantized_activations.ranges()
    model(tiny.make_rows(8, seed=3)[0], training=False)
    assert quantized_activations.ranges() == before
    with pytest.raises(ValueError, match=r"QuantizationAware.batches must hold at least one batch"):
        QuantizationAware(tiny.build(), [])


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


def round_on_two_devices():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    tf.config.run_functions_eagerly(True)
    with strategy.scope():
        model = tiny.build()
        quantized_activations = QuantizationAware(model, tiny.batches(1))
    before, attributes = quantized_activations.ranges(), [dict(vars(layer)) for layer in model._flatten_layers()]
    rows, labels = tiny.make_rows(8)
    variables = quantized_activations.variables()
    step = TrainingStep(model, ClassificationObjective(), Training(precision="bfloat16"), 1, strategy, variables)
    step.step([{**rows, "label": labels}], 1)
    assert quantized_activations.ranges() != before
    # A device waits for the other one at each range, inside of its forward pass.
    assert [dict(vars(layer)) for layer in model._flatten_layers()] == attributes
    quantized_activations.finish()


def test_two_replicas_keep_one_range_and_leave_the_layers_as_they_were():
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


@pytest.mark.long
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


def test_a_tap_that_the_model_does_not_call_has_no_range():
    model = build_tagger(build_encoder(tiny.changed(variant=Longformer(windows=(4,)), num_segments=1)), 2)
    inputs = [{name: batch[name] for name in ("token_ids", "padding_mask")} for batch in tiny.batches(1)]
    ranges = QuantizationAware(model, inputs).finish()
    assert "block_0/attention/key/output_tap" in ranges
    assert not any("global" in path for path in ranges), "no token is global where each one has a tag"
    assert taps(model)["block_0/attention/global_key/output_tap"].transform is None


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


RANGES = {"embeddings_norm_tap": (-1.5, 2.25), "block_0/attention/context_tap": (0.0, 1e-3)}


def test_activations_are_rounded_inside_alone():
    # A model of one tap: 255 steps of 0.1 from -5 to 20.5.
    inputs = keras.Input((4,))
    model = keras.Model(inputs, TapLayer(name="tap")(inputs))
    values = np.array([[-99.0, 0.04, 0.06, 99.0]], "float32")
    with fixed_ranges(model, {"tap": (-5.0, 20.5)}):
        np.testing.assert_allclose(model(values), [[-5.0, 0.0, 0.1, 20.5]], atol=1e-5)
        np.testing.assert_allclose(model.predict(values, verbose=0), [[-5.0, 0.0, 0.1, 20.5]], atol=1e-5)
    np.testing.assert_array_equal(model.predict(values, verbose=0), values)


def test_16_bits_are_steps_around_0_and_tables_keep_8():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, TapLayer(name="tap")(inputs))
    with fixed_ranges(model, {"tap": (-32.767, 32.767)}, bits=16):
        np.testing.assert_allclose(model(np.array([[-99.0, 1.0004, 0.0]])), [[-32.767, 1.0, 0.0]], atol=1e-5)
    model, rows = tiny.build(), tiny.make_rows(4)[0]
    table = {"token_embedding/output_tap": (-1.0, 1.0)}
    with fixed_ranges(model, table):
        expected = np.asarray(model(rows))
    with fixed_ranges(model, table, bits=16):
        np.testing.assert_array_equal(np.asarray(model(rows)), expected)


def test_taps_are_found_by_unique_paths_and_closed_after_an_error():
    model = tiny.build()
    with pytest.raises(RuntimeError, match="inside"), fixed_ranges(model, RANGES):
        raise RuntimeError("inside")
    assert all(tap.transform is None for tap in taps(model).values())
    assert {"embeddings_norm_tap", "block_0/attention/key/output_tap"} <= taps(tiny.build()).keys()
    inputs = keras.Input((4,))
    inner = [keras.Sequential([keras.Input((4,)), TapLayer(name="tap")], name="twin") for _ in range(2)]
    outer = keras.Model(inputs, inner[0](inputs))
    outer.other = inner[1]
    with pytest.raises(ValueError, match=r"the path of a layer or tap must be unique, got '.*tap' twice"):
        taps(outer)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"block_9/tap": (0.0, 1.0)}, "must name taps of the model, got 'block_9/tap'"),
        ({"embeddings_norm_tap": (1.0, 2.0)}, r"must span zero and more, got \[1.0, 2.0\]"),
        ({"embeddings_norm_tap": (0.0, 0.0)}, "must span zero and more"),
    ],
)
def test_ranges_that_do_not_fit_are_refused(ranges, message):
    with pytest.raises(ValueError, match=message), fixed_ranges(tiny.build(), ranges):
        pass


def test_what_is_saved_is_found_and_a_float_model_has_none(tmp_path):
    assert read_quantization(tmp_path) is read_quantization(tmp_path / "nowhere") is None
    for rounding in (
        QuantizationParameters("dynamic_wi8", RANGES, ("block_0/attention/key",)),
        QuantizationParameters("dynamic_wi8", RANGES),
    ):
        rounding.save(tmp_path)
        assert read_quantization(tmp_path) == rounding
    said = json.loads((tmp_path / QUANTIZATION_FILE).read_text())
    ranges = {name: list(span) for name, span in RANGES.items()}
    assert said == {"recipe": "dynamic_wi8", "ranges": ranges, "float_layers": []}


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"recipe": "int9", "ranges": {}, "float_layers": []}', '{"ranges": [1]}']
)
def test_a_damaged_file_is_named(content, tmp_path):
    (tmp_path / QUANTIZATION_FILE).write_text(content)
    with pytest.raises(ValueError, match=r"^[^\n]*quantization\.json must hold [^\n]*$"):
        read_quantization(tmp_path)


def test_rows_are_rounded_inside_alone_and_as_in_training():
    model, rows = tiny.build(), tiny.make_rows(8)[0]
    aware = QuantizationAware(model, tiny.batches(1), "dynamic_wi8")
    in_training = np.asarray(model(rows))
    ranges = aware.finish()
    assert set(ranges) == {"token_embedding/output_tap", "position_embedding/output_tap"}
    plain = np.asarray(model(rows))
    with quantized_activations(model, QuantizationParameters("dynamic_wi8", ranges)):
        np.testing.assert_allclose(np.asarray(model(rows)), in_training, atol=2e-5)
    np.testing.assert_array_equal(np.asarray(model(rows)), plain)
    assert np.abs(plain - in_training).max() > 5e-5
    assert all(tap.transform is None for tap in taps(model).values())


KERNEL = np.random.default_rng(0).normal(size=(64, 5)).astype("float32")


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("block", [None, 16, 32])
def test_kernels_lie_on_one_grid_a_unit_or_block(bits, block):
    quantized = KernelQuantizer(KERNEL.shape, bits, block)(KERNEL).numpy().reshape(-1, block or 64, 5)
    blocks, last = KERNEL.reshape(quantized.shape), 2 ** (bits - 1) - 1
    scale = np.abs(blocks).max(axis=1, keepdims=True) / last
    np.testing.assert_allclose(quantized, np.round(blocks / scale) * scale, atol=1e-5)
    assert np.abs(quantized / scale).round().max() == last


def test_a_block_that_does_not_divide():
    with pytest.raises(ValueError, match=r"^block must divide the 64 inputs of a kernel, got 48$"):
        KernelQuantizer(KERNEL.shape, 4, 48)


def test_gradients_pass_straight_through_all_of_them():
    for grid in (KernelQuantizer(KERNEL.shape, 4, 16), Float16Kernel(), lambda x: quantize_rows(x, True)):
        with tf.GradientTape() as tape:
            x = tf.constant(KERNEL)
            tape.watch(x)
            total = tf.reduce_sum(grid(x) * 3.0)
        gradient = np.asarray(tape.gradient(total, x))
        # The ends of a grid may lie a last bit inside the weights that they were taken from: those are clipped.
        ends = np.abs(KERNEL) == np.abs(KERNEL.reshape(4, 16, 5)).max(axis=1).repeat(16, axis=0)
        np.testing.assert_allclose(gradient[~ends], 3.0, atol=1e-5)


def test_activations_of_16_bits_lie_on_a_grid_around_0_wider_than_all_batches():
    quantizer, batches = ActivationQuantizer(16), [KERNEL, 2 * KERNEL, KERNEL / 2]
    for batch in batches:
        quantizer.observe(tf.constant(batch), training=False)
    quantizer.start()
    largest = 1.5 * 2 * np.abs(KERNEL).max()
    assert quantizer.range() == pytest.approx((-largest, largest))
    scale = largest / 32767
    quantized = quantizer(tf.constant([*KERNEL[0], 99.0, -99.0]), training=False).numpy()
    expected = np.clip(np.round(np.array([*KERNEL[0], 99.0, -99.0]) / scale), -32767, 32767) * scale
    # Where a value lies between two steps, float32 decides.
    np.testing.assert_allclose(quantized, expected, atol=0.51 * scale)
    assert (np.abs(quantized - expected) < 0.01 * scale).mean() > 0.5
    quantizer(tf.constant(-6 * KERNEL), training=True)
    assert quantizer.range() == pytest.approx((-2 * largest, 2 * largest)), "wider by one batch"
    quantizer(tf.constant(KERNEL), training=True)
    assert quantizer.range() == pytest.approx((-2 * largest, 2 * largest)), "never narrower"


@pytest.mark.parametrize("sign", [1, -1])
def test_a_centred_grid_has_zero_as_its_middle(sign):
    quantizer, batch = ActivationQuantizer(centred=True), tf.constant(sign * np.float32([-1, 0, 3]))
    quantizer.observe(batch, training=False)
    quantizer.start()
    largest = 3 if sign > 0 else 3 * 127 / 128
    assert quantizer.range() == pytest.approx((-largest * 128 / 127, largest))
    for factor in (0.5, 2):
        quantizer(factor * batch, training=True)
        low, high = quantizer.range()
        assert low / high == pytest.approx(-128 / 127), "training keeps zero in the middle"
        assert high != pytest.approx(largest, rel=1e-6)


def test_half_precision_is_float16s_and_each_row_has_a_grid_that_holds_zero():
    np.testing.assert_array_equal(Float16Kernel()(KERNEL), KERNEL.astype("float16").astype("float32"))
    rows = np.stack([KERNEL[:, 0], np.abs(KERNEL[:, 1]) + 2, np.zeros(64, "float32")])
    quantized = quantize_rows(tf.constant(rows), False).numpy()
    for grid, row in zip(rows[:2], quantized[:2], strict=True):
        scale = (max(grid.max(), 0) - min(grid.min(), 0)) / 255
        np.testing.assert_allclose(row, np.round(grid / scale) * scale, atol=1e-5)
    np.testing.assert_array_equal(quantized[2], rows[2])
    context = np.random.default_rng(1).normal(size=(2, 3, 4, 8)).astype("float32")
    together = context.transpose(0, 2, 1, 3).reshape(2, 4, 24)
    quantized = quantize_rows(tf.constant(context), False).numpy().transpose(0, 2, 1, 3).reshape(2, 4, 24)
    np.testing.assert_allclose(quantized, quantize_rows(tf.constant(together), False), atol=1e-6)
