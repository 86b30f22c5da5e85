"""Attention rollout: attention through all layers (Abnar and Zuidema 2020)."""

import numpy as np

from keras_bert.explain.tokens import Array


def rollout(weights: Array) -> Array:
    """The share of each input token in each final state, if attention and residual count alike.

    The product over the layers of 0.5 A + 0.5 I, where A is the mean over the heads (Abnar and Zuidema 2020, section 3,
    "attention rollout"). Feed-forward layers and values are left out: a rough picture.

    Args:
        weights: attention probabilities (layers, heads, tokens, tokens).

    Returns:
        (layers, tokens, tokens): behind each layer, the shares (keys, which sum to 1) of each token's state (query).

    Raises:
        ValueError: the weights have another shape.

    Examples:
        >>> weights = np.array([[[[1.0, 0.0], [1.0, 0.0]]]])  # one head; both tokens look at the first
        >>> rollout(weights).tolist()
        [[[1.0, 0.0], [0.5, 0.5]]]
    """
    if weights.ndim != 4 or weights.shape[-1] != weights.shape[-2]:
        raise ValueError(f"rollout.weights must be (layers, heads, tokens, tokens), got shape {weights.shape}")
    product, products = np.eye(weights.shape[-1]), []
    for layer in weights.mean(axis=1, dtype="float64"):
        product = (0.5 * layer + 0.5 * np.eye(len(layer))) @ product
        products.append(product)
    return np.stack(products)
