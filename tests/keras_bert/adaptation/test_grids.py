"""Kernels on integer grids are recognized by their values."""

import numpy as np
import pytest

from keras_bert.adaptation.adapter import grid_bits

KERNEL = np.random.default_rng(0).normal(0, 0.02, (64, 24)).astype("float32")


def quantized(kernel, bits, block):
    last = 2 ** (bits - 1) - 1
    blocks = kernel.reshape(-1, block, kernel.shape[1])
    step = np.abs(blocks).max(axis=1, keepdims=True) / last
    return (np.round(blocks / step) * step).astype("float32").reshape(kernel.shape)


@pytest.mark.parametrize(("bits", "block"), [(8, 64), (4, 64), (4, 32)])
def test_a_quantized_kernel(bits, block):
    kernel = quantized(KERNEL, bits, block)
    assert grid_bits(kernel) == bits
    kernel[5, 3] += 1e-4
    assert grid_bits(kernel) is None


@pytest.mark.parametrize("kernel", [KERNEL, KERNEL.astype("float16"), np.zeros((8, 3)), KERNEL[:1]])
def test_others(kernel):
    assert grid_bits(kernel) is None
