import numpy as np
import pytest
from keras import ops

from keras_bert.families.modernbert.layers import rotary_table, rotate


def rotated(x, theta):
    """(length, size): pairs as complex numbers, each turned by its angle (Su et al. 2024, equation 34)."""
    half = x.shape[-1] // 2
    pairs = x[:, :half] + 1j * x[:, half:]
    angles = np.arange(len(x))[:, None] * theta ** (-np.arange(half) / half)
    turned = pairs * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag], axis=-1)


@pytest.mark.parametrize("theta", [100.0, 160_000.0])
def test_pairs_are_turned_by_their_angles(theta):
    x = np.random.default_rng(0).normal(size=(2, 3, 9, 6)).astype("float32")
    expected = [[rotated(head, theta) for head in row] for row in x]
    np.testing.assert_allclose(rotate(x, rotary_table(9, 6, theta)), expected, atol=1e-6)


def test_products_tell_only_how_far_places_are_apart():
    x = np.random.default_rng(1).normal(size=(2, 8)).astype("float32")
    first, second = (rotate(np.tile(row, (1, 1, 12, 1)), rotary_table(12, 8, 50.0)) for row in x)
    products = np.asarray(ops.matmul(first, ops.transpose(second, (0, 1, 3, 2))))[0, 0]
    for apart in range(-11, 12):
        line = np.diagonal(products, apart)
        np.testing.assert_allclose(line, np.full_like(line, line[0]), atol=1e-5)
    assert np.ptp(products[0]) > 0.1


def test_far_places_are_told_apart_in_bfloat16():
    table = rotary_table(4097, 4, 10_000.0)
    assert {part.dtype for part in map(ops.convert_to_numpy, table)} == {np.dtype("float32")}
    turned = rotate(ops.ones((1, 1, 4097, 4), "bfloat16"), table)
    exact = rotated(np.ones((4097, 4)), 10_000.0)
    # As near as the type can be; angles in bfloat16 would be wrong by up to 16.
    np.testing.assert_allclose(ops.cast(turned, "float32")[0, 0], exact, atol=0.01)
