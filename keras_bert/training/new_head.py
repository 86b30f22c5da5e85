"""The start of a new head: a linear model on the vectors of the encoder as it is.

A random head spends a short training on itself, and bends the encoder meanwhile. A head that starts at its optimum on
frozen vectors does not (Kumar et al. 2022, "Fine-Tuning can Distort Pretrained Features and Underperform
Out-of-Distribution", section 4: linear probing, then fine-tuning).
"""

import contextlib
import dataclasses
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np
from scipy.special import expit, logit, softmax

from keras_bert.core.checks import check
from keras_bert.data.schemas import TEACHER_ANSWERS
from keras_bert.objectives.base import call_model
from keras_bert.options.fine_tuning import StartHead
from keras_bert.tasks.base import Link, Task
from keras_bert.training.linear_model import LinearModel, fit_linear, losses
from keras_bert.training.seeds import seeded_weights

if TYPE_CHECKING:
    from keras_bert.training.step import BatchSource

logger = logging.getLogger(__name__)

Array = np.ndarray[Any, Any]
Batch = Mapping[str, Any]

# Rows, their tokens, and words with tags that a head is fitted to: the encoder reads them in seconds.
_MOST_ROWS, _MOST_TOKENS, _MOST_WORDS = 4096, 2**17, 40_000
# Parts of the rows; the last one is left out to choose the penalty, or each in turn where there are few rows.
_FOLDS, _FEW_ROWS = 5, 300
# The strongest penalty in units of the vectors' mean squared length, the ratio of two neighbours, and the weakest one.
_STRONGEST, _RATIO, _WEAKEST = 10.0, 10.0, 1e-4
# How near to its optimum a model comes that only chooses the penalty, see `fit_linear`.
_ROUGH = 1e-2
# The share of the loss of constant answers, on rows left out, that a fitted head must save (docs/accuracy.md).
_LEAST_GAIN = 0.15


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
        gain: the share that it saves, on rows left out of the fit, of the loss of constant answers or of a copied head.
        is_kept: whether the task starts with it.
    """

    weights: Mapping[str, Array]
    rows: int
    gain: float
    is_kept: bool

    def save(self, file: Path) -> None:
        """Writes the weights as an `.npz` file, which `attach_fitted_head` reads."""
        arrays: dict[str, Any] = {**self.weights}
        np.savez(file, **arrays)


def attach_fitted_head(task: Task, encoder: keras.Model, file: Path) -> Task:
    """A task like another one on the encoder that it was trained from, with the head that `FittedHead.save` wrote."""
    frozen = task.rebuilt(encoder)
    with np.load(file) as arrays:
        weights = {weight.path: weight for weight in frozen.model.weights}
        for path in arrays:
            weights[path].assign(arrays[path])
    return frozen


def check_start(kind: type[Task], how: StartHead) -> None:
    """Raises FieldError for `fitted` where the head of a kind of task is no linear model."""
    rule = f"be 'auto' or 'random' for {kind.name}, whose head is no linear model of one vector"
    check("fit", "start_head", kind.link is not None or how != "fitted", rule, how)


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
    pairs of texts say little before a training. Its bias gives the labels their frequencies then, but for texts of more
    than two classes. Heads of question answering and re-ranking stay as they are.

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
    parts, numbers = zip(*_read_rows(task, head, rows, class_weights, teacher), strict=True)
    learnt, row = HeadRows(*map(np.concatenate, zip(*parts, strict=True))), np.concatenate(numbers)
    if not np.isfinite(learnt.vectors).all():
        return None  # the training will say more
    if row[-1] + 1 < 2 * _FOLDS:
        check("fit", "start_head", how == "auto", f"be 'auto' or 'random' for fewer than {2 * _FOLDS} rows", how)
        return None
    copied = LinearModel(head.kernel.numpy(), head.bias.numpy()) if is_copied else None
    model, loss, first_loss = _fit_with_penalty(learnt, row % _FOLDS, link, copied)
    linear = {head.kernel.path: model.kernel.astype("float32"), head.bias.path: model.bias.astype("float32")}
    gain = 1 - loss / max(first_loss, 1e-12)
    is_kept = how == "fitted" or gain > (0 if is_copied else _LEAST_GAIN)
    fitted = FittedHead({**weights_of_head(task), **linear}, len(row), gain, is_kept)
    is_words = len(task.model.output.shape) == 3
    if is_kept:
        head.kernel.assign(model.kernel)
        head.bias.assign(model.bias)
    elif copied is None and (link == "sigmoid" or is_words or len(model.bias) == 2):
        # A short training from equal probabilities ends before it has learnt more than frequencies (Lin et al. 2017,
        # "Focal Loss for Dense Object Detection", section 3.3). Many classes are worse with them (docs/accuracy.md).
        head.bias.assign(_constant(_smoothed(learnt, link), link).bias)
    logger.info(
        "head fitted to %s %s in %.1f s: loss %.3g on some left out, %s have %.3g; the training starts from %s",
        f"{len(row):,}",
        "words" if is_words else "rows",
        time.monotonic() - begin,
        loss,
        "answers of the teacher's head" if is_copied else "constant answers",
        first_loss,
        "it" if is_kept else "the other head",
    )
    return fitted


def _read_rows(
    task: Task, head: Any, rows: "BatchSource", class_weights: Sequence[float] | None, teacher: Task | None
) -> Iterator[tuple[HeadRows, Array]]:
    """The vectors that the head reads with their targets and weights, batch by batch, and the number of their row."""
    network, objective = keras.Model(task.model.input, head.input), task.objective(class_weights)
    read, tokens, words = 0, 0, 0
    for batch in rows.epoch():
        if read >= _MOST_ROWS or tokens >= _MOST_TOKENS or words >= _MOST_WORDS:
            return
        vectors = np.asarray(call_model(network, batch, False), "float64")
        weights = np.asarray(objective.loss_weights(batch), "float64")
        # Tokens without a tag have the weight 0.
        is_used = weights > 0 if weights.ndim == vectors.ndim - 1 else np.ones(len(weights), bool)
        answers = batch.get(TEACHER_ANSWERS)
        if answers is None and teacher is not None:
            answers = call_model(teacher.network(), batch, False)
        labels = np.asarray(batch[task.label_name])[is_used]
        targets = np.eye(len(task.labels))[labels] if task.link == "softmax" else labels.reshape(len(labels), -1)
        if answers is not None:
            outputs = np.asarray(answers, "float64")[is_used].reshape(len(targets), -1)
            if task.link != "identity":
                outputs = softmax(outputs, axis=1) if task.link == "softmax" else expit(outputs)
            # Rows of the user may have a label instead.
            has_answers = objective.spread_rows(batch.get("has_answers", np.ones(len(vectors))), batch)
            is_answered = np.broadcast_to(has_answers, weights.shape)[is_used].reshape(len(targets), -1) > 0
            targets = np.where(is_answered, outputs, targets)
        if task.link == "identity":
            targets = (targets - head.scale.mean) / head.scale.standard_deviation
        part = vectors[is_used], targets.astype("float64"), weights[is_used].reshape(len(targets), -1)
        yield HeadRows(*part), read + np.nonzero(is_used)[0]
        read, tokens, words = read + len(vectors), tokens + np.size(batch["token_ids"]), words + len(targets)


def _fit_with_penalty(
    rows: HeadRows, part: Array, link: Link, copied: LinearModel | None
) -> tuple[LinearModel, float, float]:
    """The linear model with the penalty that is best on rows left out, and its mean loss on these.

    `part` is the fold of each vector, the same for all words of a row.

    The last number is the loss on them of the copied model, or of constant answers.
    """
    folds = range(_FOLDS) if len(part) < _FEW_ROWS else range(1)
    parts = [(_smoothed(rows.take(part != fold), link), rows.take(part == fold)) for fold in folds]
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
        if loss < best:
            best, chosen = loss, share
        # Labels in directions of little variance are learnt last: a first rise may come before any gain.
        elif copied is not None or best < (1 - _LEAST_GAIN) * first_loss:
            break
        share /= _RATIO
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


def weights_of_head(task: Task) -> dict[str, Array]:
    """The weights of a task outside of its encoder, by path."""
    inside = {id(weight) for weight in task.encoder.weights}
    return {weight.path: weight.numpy() for weight in task.model.weights if id(weight) not in inside}


@contextlib.contextmanager
def restored_head(task: Task) -> Iterator[dict[str, Array]]:
    """Yields the weights of a task's head, which it gets back after an error, unless the block has cleared them."""
    before, drawn = weights_of_head(task), task.drawn_weights
    try:
        yield before
    except BaseException:
        if before:
            task.drawn_weights = drawn
            for weight in task.model.weights:
                if weight.path in before:
                    weight.assign(before[weight.path])
        raise


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
        elif weight.path.endswith("/bias") and f"{weight.path[:-4]}kernel" in task.drawn_weights:
            weight.assign(np.zeros(weight.shape))  # a fit that failed may have left the labels' frequencies
