"""Ablation of attention heads (Michel et al. 2019, section 3)."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.tensors import Tensor
from keras_bert.layers.tap import Tap, transforming
from keras_bert.models.encoder import blocks_of, config_of
from keras_bert.objectives.base import Batch, means
from keras_bert.tasks.base import Task
from keras_bert.tasks.checks import is_keras_model
from plugins.explain.tokens import Array


@dataclasses.dataclass(frozen=True)
class HeadAblation:
    """The score of a model, and its score without each head.

    `score` is that of the whole model by `metric`, `scores` those without each head, float64 (layers, heads).

    Examples:
        >>> ablation = HeadAblation("accuracy", 0.9, np.array([[0.5, 0.9]]))
        >>> ablation.drops.tolist()
        [[0.4, 0.0]]
    """

    metric: str
    score: float
    scores: Array

    @property
    def drops(self) -> Array:
        """Decrease of the score without each head (layers, heads).

        Important heads have a drop above 0 for an accuracy, and below 0 for a loss or an error.
        """
        return self.score - self.scores


def leave_one_head_out(task: Task, batches: Iterable[Batch], metric: str = "loss") -> HeadAblation:
    """Measures a model without each of its attention heads, one at a time (Michel et al. 2019, section 3).

    The output of a head is set to 0 for all tokens; the bias of the output projection stays. Weights and the results of
    other threads do not change. The model runs once for each head and once with all heads.
    `keras_bert.compress.importance.measure_importance` estimates all heads of BERT's graph in one pass.

    Args:
        task: a fine-tuned task with a Keras model of any family.
        batches: inputs and labels, as for `measure_importance`; all batches are kept in memory.
        metric: the name of a metric of the task's objective, such as `loss` or `accuracy`.

    Raises:
        ValueError: there are no batches, there is no such metric, the task is pre-training, which has no objective, or
            the task's model is an exported file.

    Examples:
        >>> batch = task.encode(["film film", "film"]) | {"label": np.array([1, 0])}
        >>> ablation = leave_one_head_out(task, [batch], "accuracy")
        >>> ablation.drops.shape, bool(np.abs(ablation.drops).max() <= 1)
        ((1, 2), True)
    """
    owner, rows = "leave_one_head_out", list(batches)
    rule = "be a Keras model; heads of an exported file cannot be left out"
    check(owner, "task.model", is_keras_model(task.model), rule, type(task.model).__name__)
    check(owner, "batches", bool(rows), "hold at least one batch of rows", rows)
    network, objective = task.network(), task.objective()

    def measure(mask: _HeadMask | None = None) -> dict[str, float]:
        with task._answering(), contextlib.nullcontext() if mask is None else transforming(mask.tap, mask):
            return means([objective(network, batch, False) for batch in rows])

    whole = measure()
    check(owner, "metric", metric in whole, f"be one of {sorted(whole)}", metric)
    blocks: list[Any] = blocks_of(network)
    calls = config_of(network).num_layers // len(blocks)
    scores = []
    for block, call in itertools.product(blocks, range(calls)):
        masks = [_HeadMask(block.attention.context_tap, head, call, calls) for head in range(block.attention.num_heads)]
        scores.append([measure(mask)[metric] for mask in masks])
    return HeadAblation(metric, whole[metric], np.array(scores, "float64"))


class _HeadMask:
    """Sets the output of a head to 0 in one layer. A shared block is called once per layer, so calls are counted."""

    def __init__(self, tap: Tap, head: int, call: int, calls: int) -> None:
        self.tap, self._head, self._call, self._calls = tap, head, call, calls
        self._count = 0

    def __call__(self, x: Tensor) -> Tensor:
        """(batch, heads, length, head_size), of the same shape."""
        call, self._count = self._count % self._calls, self._count + 1
        if call != self._call:
            return x
        return ops.multiply(x, ops.cast((np.arange(x.shape[1]) != self._head)[:, None, None], x.dtype))
