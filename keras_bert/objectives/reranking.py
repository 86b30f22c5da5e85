"""The order of the passages of a query, from one score for each pair of both."""

import dataclasses
from collections.abc import Mapping

import keras
from keras import ops

from keras_bert.core.losses import correct, cross_entropy, weighted_sums
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Array, Batch, Sums, TaskObjective
from keras_bert.objectives.contrast import EXCLUDED
from keras_bert.objectives.tasks import RegressionObjective


@dataclasses.dataclass(frozen=True)
class RerankingObjective(RegressionObjective):
    """The negative log-likelihood of the order of each list, see `order_losses`; each list has the same weight.

    A list are the rows of a batch with the same `list`.
    """

    def loss_weights(self, batch: Batch) -> Tensor:
        """1 for each list, shared equally by its rows (batch,)."""
        return 1.0 / ops.sum(_same_list(batch["list"]), axis=1)

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The losses of scores (batch, 1) in nats, whose weighted sum over a list is the mean of `order_losses`."""
        losses, _, shares = order_losses(outputs[:, 0], batch["value"], batch["list"])
        return losses * shares / self.loss_weights(batch)

    def scores(self, outputs: Tensor, batch: Batch) -> Sums:
        """The sum and weight of `accuracy`: the share of passages above all less relevant ones, over lists."""
        _, first, shares = order_losses(outputs[:, 0], batch["value"], batch["list"])
        return {"accuracy": weighted_sums(first, shares)}

    # Rows are sorted by query, so that an array in the order of the user's rows would belong to other passages.
    answers_from = TaskObjective.answers_from

    def labels_from(self, outputs: Array, batch: Mapping[str, Array]) -> dict[str, Array]:
        """`value` (batch,), of scores (batch, 1), and the lists as they are."""
        return {**super().labels_from(outputs, batch), "list": batch["list"]}


def order_losses(scores: Tensor, relevance: Tensor, lists: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The losses of the orders of lists: -log of the probability that a passage is before all less relevant ones.

    The probability is that of Plackett and Luce: the softmax over the passage and the less relevant ones of its list.
    Without equal relevances the losses of a list add up to ListMLE (Xia et al. 2008); with relevances 0 and 1 they are
    localized contrastive estimation (Gao et al. 2021). The least relevant passages have no loss.

    `lists` has equal numbers for the rows of a list. The results are the loss of each row in nats; 1 for a score above
    those of all less relevant passages, else 0; and the share of a row in its list, which add up to 1, or to 0 where
    all relevances are equal. All are (rows,).
    """
    scores, relevance = ops.cast(scores, "float32"), ops.cast(relevance, "float32")
    same = _same_list(lists)
    lower = same * ops.cast(relevance[None, :] < relevance[:, None], "float32")
    rows = ops.arange(ops.shape(scores)[0])
    others = ops.not_equal(rows[:, None], rows[None, :])
    logits = ops.where(ops.logical_and(lower == 0, others), EXCLUDED, scores[None, :])
    counted = ops.max(lower, axis=1)
    shares = counted / ops.maximum(ops.sum(same * counted[None, :], axis=1), 1.0)
    return cross_entropy(logits, rows), correct(logits, rows), shares


def _same_list(lists: Tensor) -> Tensor:
    """1 where two rows are of one list (rows, rows), float32."""
    lists = ops.convert_to_tensor(lists)
    return ops.cast(ops.equal(lists[:, None], lists[None, :]), "float32")


@keras.saving.register_keras_serializable("keras_bert")
class ListLoss(keras.losses.Loss):
    """`order_losses` as a Keras loss: the mean over the lists of a batch."""

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Relevances and lists (rows, 2), scores (rows, 1) -> (rows,), whose mean is the mean over the lists."""
        losses, _, shares = order_losses(y_pred[:, 0], y_true[:, 0], y_true[:, 1])
        weights = 1.0 / ops.sum(_same_list(y_true[:, 1]), axis=1)
        return losses * shares / ops.mean(weights)
