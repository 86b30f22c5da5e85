"""Linear models with one optimum: logistic regressions of one or several labels, and ridge regressions."""

import dataclasses
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from threadpoolctl import threadpool_limits

from keras_bert.tasks.base import Link

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class LinearModel:
    """The kernel (width, outputs) and the bias (outputs,) of a head, float64."""

    kernel: Array
    bias: Array

    def __call__(self, vectors: Array) -> Array:
        """Vectors (rows, width) -> outputs (rows, outputs)."""
        return vectors @ self.kernel + self.bias


def losses(outputs: Array, targets: Array, link: Link) -> tuple[Array, Array]:
    """The loss of each output (rows, outputs), up to a constant, and its derivative.

    The cross-entropy of a softmax or of sigmoids with targets from 0 to 1, or half of the squared error.
    """
    if link == "identity":
        return (outputs - targets) ** 2 / 2, outputs - targets
    if link == "sigmoid":
        return np.logaddexp(0, outputs) - targets * outputs, expit(outputs) - targets
    logarithms = outputs - logsumexp(outputs, axis=1, keepdims=True)
    return -targets * logarithms, np.exp(logarithms) - targets


# Threads of BLAS that wait for each other take up to 200 times as long where other processes run.
@threadpool_limits.wrap(limits=1)
def fit_linear(
    vectors: Array,
    targets: Array,
    weights: Array,
    l2: float,
    link: Link,
    start: LinearModel | None = None,
    tolerance: float = 1e-7,
) -> LinearModel:
    """The linear model with the least sum of weighted losses and l2 / 2 times the squared norm of its kernel.

    Vectors (rows, width) float64, targets (rows, outputs), see `losses`, and weights (rows, outputs) or (rows, 1). The
    bias has no penalty. From a `start` near to the result this is found sooner. `tolerance` is the greatest number of
    the gradient at the end, in units of a typical one.
    """
    width, count = vectors.shape[1], targets.shape[1]
    of_rows = weights.mean(axis=1)
    mean = of_rows @ vectors / of_rows.sum()
    centred = vectors - mean
    # Coordinates in which all directions are about equally steep: L-BFGS needs tens of steps there.
    curvature = {"identity": 1.0, "sigmoid": 0.25, "softmax": 1 / count}[link]
    eigenvalues, axes = np.linalg.eigh((centred * of_rows[:, None]).T @ centred)
    scale = 1 / np.sqrt(curvature * np.maximum(eigenvalues, 0) + l2)[:, None]
    bias_scale = 1 / np.sqrt(curvature * of_rows.sum())
    turned = centred @ axes

    def measure(point: Array) -> tuple[float, Array]:
        kernel, bias = point[:-count].reshape(width, count) * scale, point[-count:] * bias_scale
        values, slopes = losses(turned @ kernel + bias, targets, link)
        slopes = slopes * weights
        to_kernel = (turned.T @ slopes + l2 * kernel) * scale
        gradient = np.concatenate([to_kernel.ravel(), slopes.sum(axis=0) * bias_scale])
        return (values * weights).sum() + l2 / 2 * (kernel**2).sum(), gradient

    point = np.zeros((width + 1) * count)
    if start is not None:
        parts = axes.T @ start.kernel / scale, (start.bias + mean @ start.kernel) / bias_scale
        point = np.concatenate([part.ravel() for part in parts])
    options = {"maxiter": 10_000, "maxfun": 10_000, "maxcor": 20, "ftol": 0.0, "gtol": tolerance}
    options["gtol"] *= np.sqrt(of_rows.sum() * curvature)
    point = minimize(measure, point, jac=True, method="L-BFGS-B", options=options).x
    kernel = axes @ (point[:-count].reshape(width, count) * scale)
    return LinearModel(kernel, point[-count:] * bias_scale - mean @ kernel)
