"""Which weights become zero, when, and that they stay so."""

import numpy as np
import pytest

from keras_bert.compress.prune import MagnitudePruning
from keras_bert.options.compression import Pruning
from keras_bert.training.masks import Masks
from tests.keras_bert.compress import tiny


def kernels(model):
    return {path: np.asarray(layer.kernel) for path, layer in Masks(model).kernels.items()}


def test_the_smallest_weights_of_each_kernel_go_and_no_head_is_touched():
    model = tiny.build()
    before = kernels(model)
    head = model.get_layer("classifier").kernel.numpy()
    pruning = MagnitudePruning(model, Pruning(sparsity=0.7, ramp=0.5), 10)
    for step in range(1, 11):
        pruning.after_step(step)
    after = kernels(model)
    assert after.keys() == before.keys()
    assert len(after) == 7, "four of the attention, two of the feed-forward layer, and the pooler"
    for path, kernel in after.items():
        left = np.flatnonzero(kernel)
        assert len(left) == kernel.size - round(0.7 * kernel.size)
        np.testing.assert_array_equal(kernel.ravel()[left], before[path].ravel()[left])
        assert np.abs(before[path]).ravel()[left].min() >= np.abs(before[path][kernel == 0]).max()
    np.testing.assert_array_equal(model.get_layer("classifier").kernel.numpy(), head)
    assert pruning.sparsity() == pytest.approx(0.7, abs=1e-3)


def test_the_share_rises_as_the_paper_says_and_masks_are_all_that_goes_on():
    model = tiny.build()
    pruning = MagnitudePruning(model, Pruning(sparsity=0.8, ramp=0.5), 40)
    for step in range(1, 41):
        pruning.after_step(step)
        # Zhu and Gupta 2017, equation 1, from 0 at step 0 to the end of the ramp.
        expected = 0.8 - 0.8 * (1 - min(step, 20) / 20) ** 3
        assert pruning.sparsity() == pytest.approx(expected, abs=1e-3)
    model = tiny.build()
    pruning = MagnitudePruning(model, Pruning(), 1)
    pruning.after_step(1)
    held = [variable.numpy() for variable in pruning.variables()]
    np.testing.assert_equal(held, [(kernel != 0).astype("float32") for kernel in kernels(model).values()])


def test_two_of_four_inputs_of_a_unit_are_zero():
    model = tiny.build(intermediate_size=63)
    before = kernels(model)
    MagnitudePruning(model, Pruning(pattern="2:4"), 1).after_step(1)
    for path, kernel in kernels(model).items():
        whole = kernel.shape[0] // 4 * 4
        blocks = kernel[:whole].reshape(-1, 4, kernel.shape[1])
        assert (np.count_nonzero(blocks, axis=1) == 2).all()
        large = np.sort(np.abs(before[path][:whole].reshape(blocks.shape)), axis=1)[:, 2:]
        np.testing.assert_array_equal(np.sort(np.abs(blocks), axis=1)[:, 2:], large)


def test_zeros_that_a_model_has_are_kept_while_it_trains():
    model = tiny.build()
    MagnitudePruning(model, Pruning(), 1).after_step(1)
    zero = {path: kernel == 0 for path, kernel in kernels(model).items()}
    masks = Masks(model)
    tiny.train(model, 1)
    assert all((kernel[zero[path]] != 0).any() for path, kernel in kernels(model).items())
    masks.after_step(1)
    for path, kernel in kernels(model).items():
        np.testing.assert_array_equal(kernel == 0, zero[path])


def test_a_second_pruning_with_fewer_zeros_lets_none_grow_back():
    model = tiny.build()
    MagnitudePruning(model, Pruning(sparsity=0.7), 1).after_step(1)
    zero = {path: kernel == 0 for path, kernel in kernels(model).items()}
    pruning = MagnitudePruning(model, Pruning(sparsity=0.2), 1)
    tiny.train(model, 1)
    pruning.after_step(1)
    for path, kernel in kernels(model).items():
        np.testing.assert_array_equal(kernel == 0, zero[path])
