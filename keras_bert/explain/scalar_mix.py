"""A linear classifier on a mean of layers with learned weights (Tenney et al. 2019)."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_bert.explain.tokens import Array

_MOST_STEPS = 500


@dataclasses.dataclass(frozen=True)
class ScalarMix:
    """A linear classifier on a weighted mean of the states of all layers.

    Attributes:
        weights: the weight of each layer, the embeddings first, float64 (layers + 1,); they sum to 1.
        kernel: the classifier's weights (hidden, tags).
        bias: the classifier's bias (tags,).

    Examples:
        >>> mix = ScalarMix(np.array([0.5, 0.0, 0.5]), np.eye(2), np.zeros(2))
        >>> mix.center_of_gravity, mix.predict(np.array([[[4.0, 1.0]], [[9.0, 0.0]], [[-2.0, 5.0]]])).tolist()
        (1.0, [1])
    """

    weights: Array
    kernel: Array
    bias: Array

    @property
    def center_of_gravity(self) -> float:
        """The mean number of the layer, 0 for the embeddings, by the weights (Tenney et al. 2019, section 3)."""
        return float(self.weights @ np.arange(len(self.weights)))

    def predict(self, states: Array) -> Array:
        """The number of the likeliest tag (words,) for states (layers + 1, words, hidden)."""
        mixed = np.tensordot(self.weights, states, axes=1)
        return (mixed @ self.kernel + self.bias).argmax(axis=1)


def fit_scalar_mix(states: Array, tags: Array, count: int) -> ScalarMix:
    """Trains a classifier together with the weights of the layers, a softmax of one number each.

    The weights begin alike. Tenney et al. 2019, section 3, have a further factor of all layers, which the kernel of a
    linear classifier contains. The loss is that of scikit-learn's `LogisticRegression`, so that one layer alone gives
    its classifier: the sum of the cross-entropies plus half of the sum of the squares of the kernel. The squares of the
    layers' numbers are added likewise: without them, the layer that is best by little would get all of the weight.
    States (layers + 1, words, hidden) have the same units in all layers.
    """
    from scipy.optimize import minimize

    layers, _, hidden = states.shape
    start = np.zeros(layers + hidden * count + count)
    loss = mix_loss(states, tags, count)
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS, "gtol": 1e-5})
    return ScalarMix(*_split(solution.x, layers, hidden, count))


def mix_loss(states: Array, tags: Array, count: int) -> Callable[[Array], tuple[float, Array]]:
    """The loss of a word, and its gradient, as a function of all parameters in a row: layers, kernel, bias."""
    from scipy.special import log_softmax

    layers, words, hidden = states.shape
    is_tag = np.eye(count)[tags]
    # Float32 states stay float32: copies of all layers in float64 would take most of the time.
    states = np.asarray(states, np.result_type(states, "float32"))

    def measure(parameters: Array) -> tuple[float, Array]:
        weights, kernel, bias = _split(parameters, layers, hidden, count)
        mixed = np.tensordot(weights.astype(states.dtype), states, axes=1)
        logs = log_softmax(mixed @ kernel + bias, axis=1)
        squares = np.square(kernel).sum() + np.square(parameters[:layers]).sum()
        loss = (-logs[is_tag > 0].sum() + squares / 2) / words
        slopes = (np.exp(logs) - is_tag) / words
        by_layer = np.tensordot(states, (slopes @ kernel.T).astype(states.dtype), axes=2)
        by_score = weights * (by_layer - weights @ by_layer) + parameters[:layers] / words
        gradients = by_score, mixed.T @ slopes + kernel / words, slopes.sum(axis=0)
        return float(loss), np.concatenate([np.ravel(gradient) for gradient in gradients])

    return measure


def _split(parameters: Array, layers: int, hidden: int, count: int) -> tuple[Any, Any, Any]:
    """The weights of the layers, the kernel and the bias."""
    from scipy.special import softmax

    scores, kernel, bias = np.split(parameters, [layers, layers + hidden * count])
    return softmax(scores), kernel.reshape(hidden, count), bias
