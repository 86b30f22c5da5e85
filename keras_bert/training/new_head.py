"""The start of a new head: a linear model on the vectors of the encoder as it is.

A random head spends a short training on itself, and bends the encoder meanwhile. A head that starts at its optimum on
frozen vectors does not (Kumar et al. 2022, "Fine-Tuning can Distort Pretrained Features and Underperform
Out-of-Distribution", section 4: linear probing, then fine-tuning).
"""

import dataclasses
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp, softmax
from threadpoolctl import threadpool_limits

from keras_bert.core.checks import check
from keras_bert.core.losses import IGNORED
from keras_bert.data.schemas import TEACHER_ANSWERS
from keras_bert.objectives.base import call_model
from keras_bert.options.fine_tuning import StartHead
from keras_bert.tasks.base import Link, Task
from keras_bert.training.trainer import seeded_weights

if TYPE_CHECKING:
    from keras_bert.training.step import BatchSource

logger = logging.getLogger(__name__)

Array = np.ndarray[Any, Any]
Batch = Mapping[str, Any]

# Rows, and words with tags, that a head is fitted to: the encoder reads them in seconds.
_MOST_ROWS, _MOST_WORDS = 4096, 40_000
# Parts of the rows; the last one is left out to choose the penalty, or each in turn where there are few rows.
_FOLDS, _FEW_ROWS = 5, 300
# The strongest penalty in units of the vectors' mean squared length, the ratio of two neighbours, and the weakest one.
_STRONGEST, _RATIO, _WEAKEST = 10.0, 10.0, 1e-4
# How near to its optimum a model comes that only chooses the penalty, see `fit_linear`.
_ROUGH = 1e-2
# The share of the loss of constant answers, on rows left out, that a fitted head must save (docs/accuracy.md).
_LEAST_GAIN = 0.15


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


def fit_linear(
    vectors: Array,
    targets: Array,
    weights: Array,
    l2: float,
    link: Link,
    start: LinearModel | None = None,
    tolerance: float = 1e-5,
) -> LinearModel:
    """The linear model with the least sum of weighted losses and l2 / 2 times the squared norm of its kernel.

    Args:
        vectors: (rows, width) float64.
        targets: (rows, outputs), see `losses`.
        weights: the weights of the losses (rows, outputs) or (rows, 1).
        l2: the penalty, above 0; there is none on the bias.
        link: what makes answers of the outputs.
        start: a model near to the result, from which it is found sooner.
        tolerance: the greatest number of the gradient at the end, in units of a typical one.
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
    # Threads of BLAS that wait for each other took ten times the processor time where other processes ran.
    with threadpool_limits(1):
        point = minimize(measure, point, jac=True, method="L-BFGS-B", options=options).x
    kernel = axes @ (point[:-count].reshape(width, count) * scale)
    return LinearModel(kernel, point[-count:] * bias_scale - mean @ kernel)


class HeadRows(NamedTuple):
    """What a linear model learns from: vectors (rows, width), targets and weights, see `fit_linear`."""

    vectors: Array
    targets: Array
    weights: Array

    def take(self, rows: Any) -> "HeadRows":
        """Some of the rows."""
        return HeadRows(*(array[rows] for array in self))

    def loss(self, model: LinearModel, link: Link) -> float:
        """The weighted mean of the losses of a model."""
        values = losses(model(self.vectors), self.targets, link)[0] * self.weights
        return float(values.sum() / self.weights.mean(axis=1).sum())


@dataclasses.dataclass(frozen=True)
class FittedHead:
    """A head at its optimum on frozen vectors.

    Attributes:
        weights: the weights of the task outside of its encoder, by path, with the fitted kernel and bias.
        rows: number of rows, or of words with tags, that it was fitted to.
        loss: its mean loss on rows left out of the fit.
        first_loss: the loss on these rows of what it was compared with, see `fit_head`.
    """

    weights: Mapping[str, Array]
    rows: int
    loss: float
    first_loss: float

    @property
    def gain(self) -> float:
        """The share of `first_loss` that it saves."""
        return 1 - self.loss / max(self.first_loss, 1e-12)


def fit_head(
    task: Task,
    rows: "BatchSource",
    how: StartHead = "auto",
    class_weights: Sequence[float] | None = None,
    *,
    teacher: Task | None = None,
    is_copied: bool = False,
) -> FittedHead | None:
    """Starts the head of a task at its optimum on the vectors that the encoder gives before a training.

    The head becomes a linear model of the vectors: a multinomial logistic regression, one for each label where a text
    may have several, or a ridge regression. The penalty is chosen on rows that are left out of the fit. With `auto`, a
    new head keeps its random weights where the fitted one saves little of the loss of constant answers: vectors of
    pairs of texts say little before a training. Heads of question answering and re-ranking stay as they are.

    Args:
        task: a task on a Keras model, whose new head is drawn and has its scale.
        rows: shuffled batches of the training rows, of which the first thousands are read.
        how: see `FineTuningSettings`; `random` does nothing.
        class_weights: the weights of the labels in the loss; None for 1.
        teacher: a model whose answers are the targets; None for labels. Answers in the rows come first.
        is_copied: whether the head is that of a teacher: it stays unless the fitted one is nearer to the targets.

    Returns:
        The fitted head, whether the task starts with it or not; None if there is none.

    Raises:
        ValueError: there are too few rows for `fitted`.
    """
    link = task.link
    if how == "random" or link is None:
        return None
    begin, head = time.monotonic(), task.model.layers[-1]
    rows_read = _read_rows(task, head, rows, class_weights, teacher)
    learnt = HeadRows(*map(np.concatenate, zip(*rows_read, strict=True)))
    count = len(learnt.vectors)
    if count < 2 * _FOLDS:
        check("fit", "start_head", how == "auto", f"be 'auto' or 'random' for fewer than {2 * _FOLDS} rows", how)
        return None
    copied = LinearModel(head.kernel.numpy(), head.bias.numpy()) if is_copied else None
    model, loss, first_loss = _fit_with_penalty(learnt, link, copied)
    inside = {id(weight) for weight in task.encoder.weights}
    weights = {weight.path: weight.numpy() for weight in task.model.weights if id(weight) not in inside}
    linear = {head.kernel.path: model.kernel.astype("float32"), head.bias.path: model.bias.astype("float32")}
    fitted = FittedHead({**weights, **linear}, count, loss, first_loss)
    is_kept = how == "fitted" or fitted.gain > (0 if is_copied else _LEAST_GAIN)
    if is_kept:
        head.kernel.assign(model.kernel)
        head.bias.assign(model.bias)
    logger.info(
        "head fitted to %s %s in %.1f s: loss %.3g on some left out, %s have %.3g; the training starts from %s",
        f"{count:,}",
        "words" if len(task.model.output.shape) == 3 else "rows",
        time.monotonic() - begin,
        loss,
        "answers of the teacher's head" if is_copied else "constant answers",
        first_loss,
        "it" if is_kept else "the other head",
    )
    return fitted


def _read_rows(
    task: Task, head: Any, rows: "BatchSource", class_weights: Sequence[float] | None, teacher: Task | None
) -> Iterator[HeadRows]:
    """The vectors that the head reads, batch by batch."""
    network, read, words = keras.Model(task.model.input, head.input), 0, 0
    for batch in rows.epoch():
        if read >= _MOST_ROWS or words >= _MOST_WORDS:
            return
        vectors = np.asarray(call_model(network, batch, False), "float64")
        answers = batch.get(TEACHER_ANSWERS)
        if answers is None and teacher is not None:
            answers = call_model(teacher.network(), batch, False)
        targets, is_used = _find_targets(task, head, batch, None if answers is None else np.asarray(answers, "float64"))
        weights = np.ones((len(targets), 1))
        if class_weights is not None and answers is None:
            of_labels = np.asarray(class_weights)
            # The weight of a label counts for the rows that have it.
            weights = 1 + targets * (of_labels - 1) if task.independent_labels else targets @ of_labels[:, None]
        read, words = read + len(vectors), words + int(is_used.sum())
        yield HeadRows(vectors[is_used], targets, weights)


def _find_targets(task: Task, head: Any, batch: Batch, answers: Array | None) -> tuple[Array, Array]:
    """The targets of the rows or words (targets, outputs), and which of the vectors have one."""
    labels = np.asarray(batch[task.label_name])
    is_used = labels != IGNORED if task.link == "softmax" else np.ones(len(labels), bool)
    targets = np.eye(len(task.labels))[labels[is_used]] if task.link == "softmax" else labels.reshape(len(labels), -1)
    if answers is not None:
        outputs = answers[is_used].reshape(len(targets), -1)
        if task.link != "identity":
            outputs = softmax(outputs, axis=1) if task.link == "softmax" else expit(outputs)
        # Rows of the user may have a label instead.
        targets = np.where(np.asarray(batch.get("has_answers", [1]), bool)[:, None], outputs, targets)
    if task.link == "identity":
        targets = (targets - head.scale.mean) / head.scale.standard_deviation
    return targets.astype("float64"), is_used


def _fit_with_penalty(rows: HeadRows, link: Link, copied: LinearModel | None) -> tuple[LinearModel, float, float]:
    """The linear model with the penalty that is best on rows left out, and its mean loss on these.

    The last number is the loss on them of the copied model, or of constant answers.
    """
    numbers = np.arange(len(rows.vectors)) % _FOLDS
    folds = range(_FOLDS) if len(numbers) < _FEW_ROWS else range(1)
    parts = [(_smoothed(rows.take(numbers != fold), link), rows.take(numbers == fold)) for fold in folds]
    first_loss = float(np.mean([rest.loss(copied or _constant(learnt, link), link) for learnt, rest in parts]))
    unit = max(np.square(rows.vectors - rows.vectors.mean(axis=0)).sum(axis=1).mean(), 1e-12)
    models = [_constant(learnt, link) for learnt, _ in parts]
    best, chosen, share = np.inf, _STRONGEST, _STRONGEST
    while share >= _WEAKEST:
        models = [
            fit_linear(*learnt, share * unit, link, model, _ROUGH)
            for (learnt, _), model in zip(parts, models, strict=True)
        ]
        loss = float(np.mean([rest.loss(model, link) for (_, rest), model in zip(parts, models, strict=True)]))
        if loss >= best:
            break
        best, chosen, share = loss, share, share / _RATIO
    model = fit_linear(*_smoothed(rows, link), chosen * unit, link, models[0])
    return model, best, first_loss


def _smoothed(rows: HeadRows, link: Link) -> HeadRows:
    """The rows, and the mean vector with each label as probable as any: labels of no row get finite logits."""
    if link == "identity":
        return rows
    outputs = rows.targets.shape[1]
    of_rows = rows.weights.mean(axis=1)
    mean = of_rows @ rows.vectors / of_rows.sum()
    target = np.full(outputs, 0.5 if link == "sigmoid" else 1 / outputs)
    further = mean, target, np.ones(rows.weights.shape[1])
    return HeadRows(*(np.vstack([array, row]) for array, row in zip(rows, further, strict=True)))


def _constant(rows: HeadRows, link: Link) -> LinearModel:
    """The model that gives all rows the answer with the least loss."""
    mean = (rows.targets * rows.weights).sum(axis=0) / (np.ones_like(rows.targets) * rows.weights).sum(axis=0)
    bias = mean if link == "identity" else np.log(mean) if link == "softmax" else logit(mean)
    return LinearModel(np.zeros((rows.vectors.shape[1], len(mean))), bias)


def has_drawn_head(task: Task) -> bool:
    """Whether the weights of a task's head are still those that `build` drew."""
    weights, drawn = {weight.path: weight for weight in task.model.weights}, task.drawn_weights
    return bool(drawn) and all(np.array_equal(weights[path], array) for path, array in drawn.items())


def draw_head(task: Task, seed: int) -> None:
    """Draws the weights of a new head again, by a seed."""
    with seeded_weights(seed):
        task.drawn_weights = task.rebuilt(task.encoder).drawn_weights
    for weight in task.model.weights:
        if weight.path in task.drawn_weights:
            weight.assign(task.drawn_weights[weight.path])
