import numpy as np
import pytest

from keras_bert.layers.noise import gumbel_noise, mix, row_seeds

POSITIONS = np.array([[1, 4, 7], [2, 3, 0], [1, 4, 7]], "int32")
IDS = np.array([[9, 8, 7], [9, 8, 0], [9, 8, 6]], "int32")


def seeds(seed=(3, 0), rows=slice(None)):
    return [np.asarray(part) for part in row_seeds(np.array(seed), POSITIONS[rows], IDS[rows])]


def test_mix_is_the_published_permutation():
    x = 123456789
    for shift, factor in ((16, 0x21F0AAAD), (15, 0xD35A2D97)):
        x = ((x ^ x >> shift) * factor) % 2**32
    assert int(mix(np.array([123456789], "uint32"))[0]) == x ^ x >> 15
    numbers = np.asarray(mix(np.arange(2**16, dtype="uint32")))
    assert len(set(numbers.tolist())) == 2**16


def test_seeds_follow_from_the_row_and_not_from_those_beside_it():
    whole = seeds()
    for order in ([2, 0], [1]):
        for part, all_rows in zip(seeds(rows=order), whole, strict=True):
            np.testing.assert_array_equal(part, all_rows[order])
    # Of rows that differ in one token, and of the places of a row, none has that of another.
    assert len(set(whole[0].ravel().tolist())) == whole[0].size


@pytest.mark.parametrize("other", [(4, 0), (3, 1)])
def test_seeds_follow_from_both_numbers_of_the_generator(other):
    assert not set(seeds()[1].ravel().tolist()) & set(seeds(other)[1].ravel().tolist())


def test_the_largest_of_scores_and_noise_is_drawn_from_their_softmax():
    shares, rows = np.array([0.5, 0.3, 0.15, 0.05]), 40_000
    first = np.asarray(mix(np.arange(rows, dtype="uint32")))[:, None]
    noise = np.asarray(gumbel_noise(np.arange(4, dtype="uint32"), first, mix(first)))
    counts = np.bincount((noise + np.log(shares)).argmax(axis=1), minlength=4)
    # Four standard deviations of each count.
    np.testing.assert_array_less(np.abs(counts / rows - shares), 4 * np.sqrt(shares * (1 - shares) / rows))
    assert noise.mean() == pytest.approx(np.euler_gamma, abs=0.02)
    assert noise.std() == pytest.approx(np.pi / 6**0.5, abs=0.02)
