"""The contrastive objective of retrieval: vectors of queries near the vectors of their passages."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_bert.core.losses import correct, divergence, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from keras_bert.objectives.class_weights import row_weights
from keras_bert.objectives.contrast import (
    EXCLUDED,
    cosine_scores,
    exclude_answers,
    list_divergence,
    margin_mse_loss,
    ranking_losses,
)
from keras_bert.options.training import Contrast


class _Vectors(NamedTuple):
    """The vectors of a batch: of queries and their passages (batch, width), and of negatives (negatives, width)."""

    queries: Tensor
    passages: Tensor
    negatives: Tensor

    def truncated(self, width: int | None) -> "_Vectors":
        return _Vectors(*(vectors[:, :width] for vectors in self))


@dataclasses.dataclass(frozen=True)
class RetrievalObjective(TaskObjective):
    """A contrastive loss between queries and passages, see `keras_bert.objectives.contrast`.

    The negatives of a query are the passages of other rows and the negatives of all rows. Copies of any passage of the
    query in the split are not negatives. With several devices or with accumulation, only rows of the same device or of
    the same micro-batch are compared, unless `Contrast.across_micro_batches` is true.
    """

    contrast: Contrast = Contrast()

    @property
    def crosses_micro_batches(self) -> bool:
        """See `keras_bert.training.gradient_cache.CrossMicroBatchObjective`."""
        return self.contrast.across_micro_batches

    def run(self, model: keras.Model, batch: Batch, training: bool) -> Any:
        """The vectors (texts, width) of queries, passages and negatives; queries are not padded to passages' length."""
        return self.answers(ops.concatenate([model(inputs, training=training) for inputs in _sides(model, batch)]))

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """The inputs of queries, passages and negatives for one call (texts, length), as long as passages are."""
        queries, passages = _sides(model, batch)
        return {
            name: ops.concatenate([_widen(queries[name], ops.shape(texts)[1]), texts])
            for name, texts in passages.items()
        }

    def answers(self, outputs: Tensor) -> Tensor:
        """The vectors (texts, width), float32."""
        return ops.cast(outputs, "float32")

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The mean over the widths of the losses of queries or of triplets.

        The vectors are those of queries, passages and negatives (texts, width). For the groups of a batch see
        `keras_bert.data.task_batches.task_batches`.
        """
        vectors, widths = _split(outputs, batch), (*self.contrast.dimensions, None)
        return sum(self._losses(vectors.truncated(width), batch) for width in widths) / len(widths)

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """The sum and weight of `accuracy`, the share of queries or triplets whose passage is nearest."""
        vectors = _split(outputs, batch)
        if self.contrast.loss == "triplet":
            near = ops.cast(self._margins(vectors, batch) > 0, "float32")
        else:
            near = correct(self._logits(vectors, batch), ops.arange(ops.shape(vectors.queries)[0]))
        return {"accuracy": weighted_sums(near, self.loss_weights(batch))}

    def distances(self, outputs: Tensor, target: Any, batch: Batch, temperature: float) -> Tensor:
        """The divergences of the scores of student and teacher, which may differ in width.

        For `multiple_negatives` it is the divergence of the softmaxes over the candidates of a query (Lin et al. 2021,
        equation 6); for triplets the squared difference of the margins (Hofstätter et al. 2020, equation 1). A target
        (batch,) has the teacher's scores of the passages. In this case `negative_scores` (negatives,) of the batch has
        the scores of the negatives, NaN for no score, and the candidates of a query are only its row's own texts.
        """
        if len(ops.shape(target)) == 1:
            return self._score_distances(_split(outputs, batch), target, batch, temperature)
        student, teacher = _split(outputs, batch), _split(target, batch)
        if self.contrast.loss == "triplet":
            return ops.square(self._margins(student, batch) - self._margins(teacher, batch))
        return divergence(self._logits(student, batch), self._logits(teacher, batch), temperature)

    def spread_rows(self, rows: Tensor, batch: Batch) -> Tensor:
        """See `TaskObjective.spread_rows`; each negative is an element for triplets."""
        return ops.take(rows, batch["negative_row"], axis=0) if self.contrast.loss == "triplet" else rows

    def find_target(self, batch: Batch) -> None:
        """Returns None, because there is no teacher."""

    def select_labels(self, batch: Batch) -> dict[str, Any]:
        """The groups of equal texts, and the row of each negative."""
        return {name: batch[name] for name in ("answer_groups", "passage_group", "negative_group", "negative_row")}

    def join_micro_batches(self, outputs: Sequence[Tensor], labels: Sequence[Batch]) -> tuple[Tensor, dict[str, Any]]:
        """The vectors of all micro-batches: queries, then passages, then negatives; and the labels of all."""
        vectors = [_split(output, part) for output, part in zip(outputs, labels, strict=True)]
        joined = {name: ops.concatenate([part[name] for part in labels]) for name in labels[0]}
        first, rows = 0, []
        for part in labels:
            rows.append(part["negative_row"] + first)
            first = first + ops.shape(part["passage_group"])[0]
        texts = [side for sides in zip(*vectors, strict=True) for side in sides]
        return ops.concatenate(texts), {**joined, "negative_row": ops.concatenate(rows)}

    def measure_joined(self, outputs: Tensor, target: Any, labels: Batch) -> Sums:
        """`measure`; there is no target."""
        return self.measure(outputs, labels)

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """Raises ValueError: a model cannot give a query the passage that answers it."""
        raise ValueError("RetrievalObjective has no labels that a teacher could give to a query without a passage")

    def loss_weights(self, batch: Batch) -> Tensor:
        return row_weights(batch["negative_group" if self.contrast.loss == "triplet" else "passage_group"])

    def _score_distances(self, vectors: _Vectors, target: Tensor, batch: Batch, temperature: float) -> Tensor:
        """The distances from given scores: of each row, or of each triplet."""
        scores, rows = ops.cast(batch["negative_scores"], "float32"), ops.convert_to_tensor(batch["negative_row"])
        has_score = ops.isfinite(scores)
        scores = ops.where(has_score, scores, 0.0)
        if self.contrast.loss == "triplet":
            errors = self._margins(vectors, batch) - (ops.take(target, rows) - scores)
            return ops.square(ops.where(has_score, errors, 0.0))
        pair_scores = ops.diagonal(self.similarities(vectors.queries, vectors.passages))[:, None]
        student = self.contrast.scale * ops.concatenate(
            [pair_scores, self.similarities(vectors.queries, vectors.negatives)], axis=1
        )
        teacher = ops.concatenate([target[:, None], ops.broadcast_to(scores, ops.shape(student[:, 1:]))], axis=1)
        is_own = ops.equal(rows[None, :], ops.arange(ops.shape(target)[0], dtype=rows.dtype)[:, None])
        mask = ops.concatenate(
            [ops.ones_like(pair_scores, "bool"), ops.logical_and(is_own, has_score[None, :])], axis=1
        )
        if self.contrast.scores == "margin_mse":
            return margin_mse_loss(student, teacher, mask)
        return list_divergence(student, teacher, temperature, mask)

    def _losses(self, vectors: _Vectors, batch: Batch) -> Tensor:
        if self.contrast.loss == "triplet":
            return ops.relu(self.contrast.margin - self._margins(vectors, batch))
        return ranking_losses(self._logits(vectors, batch), self.contrast.symmetric)

    def similarities(self, queries: Tensor, texts: Tensor) -> Tensor:
        """The scores of all queries with all texts, cosines by default: (n, width), (m, width) -> (n, m)."""
        return cosine_scores(queries, texts)

    def _logits(self, vectors: _Vectors, batch: Batch) -> Tensor:
        logits = self.contrast.scale * self.similarities(vectors.queries, ops.concatenate(vectors[1:]))
        return ops.where(find_false_negatives(batch), EXCLUDED, logits)

    def _margins(self, vectors: _Vectors, batch: Batch) -> Tensor:
        """For each triplet, the score of the passage minus the score of the negative (negatives,)."""
        rows = ops.convert_to_tensor(batch["negative_row"])
        passages = ops.diagonal(self.similarities(vectors.queries, vectors.passages))
        negatives = self.similarities(vectors.queries, vectors.negatives)
        return ops.take(passages, rows) - ops.take_along_axis(negatives, rows[None, :], axis=0)[0]


def find_false_negatives(batch: Batch) -> Tensor:
    """`exclude_answers` for a batch, see `RetrievalObjective.measure`: bool (batch, batch + negatives)."""
    candidates = [ops.convert_to_tensor(batch[f"{name}_group"]) for name in ("passage", "negative")]
    return exclude_answers(batch["answer_groups"], ops.concatenate(candidates))


def _sides(model: keras.Model, batch: Batch) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs of queries; and the inputs of passages (`second_...`), followed by negatives (`negative_...`)."""
    names = [spec.name for spec in model.inputs]
    passages = {name: ops.concatenate([batch[f"second_{name}"], batch[f"negative_{name}"]]) for name in names}
    return {name: batch[name] for name in names}, passages


def _widen(rows: Any, width: Any) -> Tensor:
    """Rows (texts, length), padded with 0 to (texts, width)."""
    rows = ops.convert_to_tensor(rows)
    texts, length = ops.shape(rows)
    return ops.concatenate([rows, ops.zeros((texts, width - length), dtype=rows.dtype)], axis=1)


def _split(outputs: Tensor, batch: Batch) -> _Vectors:
    rows = ops.shape(batch["passage_group"])[0]
    return _Vectors(outputs[:rows], outputs[rows : 2 * rows], outputs[2 * rows :])
