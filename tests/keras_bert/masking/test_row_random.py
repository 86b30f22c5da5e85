import numpy as np
import pytest

from keras_bert.masking.row_random import RowRandom, row_keys


def test_splitmix64_as_published():
    # The first numbers of Vigna's splitmix64.c from the seed 1234567.
    stream = RowRandom(np.array([1234567], np.uint64))
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert stream.bits(2)[0].tolist() + stream.bits(1)[0].tolist() == expected


def test_row_seed_and_epoch_all_count():
    keys = row_keys(7, 2, np.arange(50))
    whole, part = RowRandom(keys), RowRandom(keys[[30, 4]])
    np.testing.assert_array_equal(whole.bits(5)[[30, 4]], part.bits(5))
    np.testing.assert_array_equal(whole.uniform(3, np.array([30, 4])), part.uniform(3))
    keys = np.concatenate([row_keys(seed, epoch, np.arange(100)) for seed in (0, 1, 2**64 - 1) for epoch in (0, 1, 2)])
    assert len(set(keys.tolist())) == 900
    epochs = np.repeat([0, 1, 2], 100)
    np.testing.assert_array_equal(row_keys(1, epochs, np.tile(np.arange(100), 3)), keys[300:600])


def test_even():
    numbers = RowRandom(row_keys(0, 0, np.arange(1000))).uniform(100)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert numbers.mean() == pytest.approx(0.5, abs=0.004)
    np.testing.assert_allclose(np.histogram(numbers, 20, (0, 1))[0], 5000, rtol=0.06)
    assert abs(np.corrcoef(numbers[:, 0], numbers[:, 1])[0, 1]) < 0.1
    assert abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.1
