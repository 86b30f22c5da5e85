"""Rollout against a computation by hand."""

import numpy as np
import pytest

from keras_bert.explain.attention import rollout


def test_three_tokens_by_hand():
    first = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.6, 0.4]])
    second = np.array([[0.0, 1.0, 0.0], [0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    heads = np.stack([np.stack([first + 0.1 * np.eye(3), first - 0.1 * np.eye(3)]), np.stack([second, second])])
    below = np.array([[0.6, 0.15, 0.25], [0.5, 0.5, 0.0], [0.0, 0.3, 0.7]])
    above = np.array([[0.5, 0.5, 0.0], [0.25, 0.625, 0.125], [0.05, 0.05, 0.9]]) @ below
    np.testing.assert_allclose(rollout(heads), [below, above], atol=1e-12)


def test_shares_of_a_state_sum_to_one():
    weights = np.random.default_rng(0).dirichlet(np.ones(7), size=(5, 3, 7))
    np.testing.assert_allclose(rollout(weights).sum(axis=-1), 1, atol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 2, 3, 4)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(ValueError, match=r"^rollout\.weights must be \(layers, heads, tokens, tokens\), got shape"):
        rollout(np.ones(shape))
