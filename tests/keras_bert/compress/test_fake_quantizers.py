"""The grids against NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.compress.fake_quantizers import ActivationQuantizer, Float16Kernel, KernelQuantizer, quantize_rows

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
        # The ends of a grid may lie a last bit inside of the weights that they were taken from: those are clipped.
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


def test_half_precision_is_float16s():
    np.testing.assert_array_equal(Float16Kernel()(KERNEL), KERNEL.astype("float16").astype("float32"))


def test_each_row_has_a_grid_that_holds_zero():
    rows = np.stack([KERNEL[:, 0], np.abs(KERNEL[:, 1]) + 2, np.zeros(64, "float32")])
    quantized = quantize_rows(tf.constant(rows), False).numpy()
    for grid, row in zip(rows[:2], quantized[:2], strict=True):
        scale = (max(grid.max(), 0) - min(grid.min(), 0)) / 255
        np.testing.assert_allclose(row, np.round(grid / scale) * scale, atol=1e-5)
    np.testing.assert_array_equal(quantized[2], rows[2])


def test_a_context_has_a_row_for_all_heads():
    context = np.random.default_rng(1).normal(size=(2, 3, 4, 8)).astype("float32")
    together = context.transpose(0, 2, 1, 3).reshape(2, 4, 24)
    quantized = quantize_rows(tf.constant(context), False).numpy().transpose(0, 2, 1, 3).reshape(2, 4, 24)
    np.testing.assert_allclose(quantized, quantize_rows(tf.constant(together), False), atol=1e-6)
