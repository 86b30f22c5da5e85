"""Losses of contrast: the vector of a query should be nearer to its passage than to any other."""

from typing import Any

import keras
from keras import ops

from keras_bert.core.losses import cross_entropy, divergence
from keras_bert.core.tensors import Tensor

# The logit of candidates that are not negatives: exp(-1e9) is 0 in float32.
EXCLUDED = -1e9


def cosine_scores(queries: Tensor, passages: Tensor) -> Tensor:
    """The cosines of all queries with all passages: (n, width), (m, width) -> float32 (n, m)."""
    units = [ops.normalize(ops.cast(vectors, "float32"), axis=-1) for vectors in (queries, passages)]
    return ops.matmul(units[0], ops.transpose(units[1]))


def exclude_answers(answers: Tensor, candidates: Tensor) -> Tensor:
    """True where a candidate of a query is not a negative, as it is one of the query's passages.

    Answers are the groups of all passages of each query, then -1 (batch, answers); candidates are groups (batch +
    negatives,), those of the rows' passages first. The result (batch, batch + negatives) is false at the row's own
    passage. Memory does not grow with the number of answers.
    """
    answers, candidates = ops.convert_to_tensor(answers), ops.convert_to_tensor(candidates)
    rows, places = ops.arange(ops.shape(answers)[0]), ops.arange(ops.shape(candidates)[0])
    others = ops.not_equal(rows[:, None], places[None, :])

    def add_answer(number: Tensor, same: Tensor) -> Tensor:
        return ops.logical_or(same, ops.equal(ops.take(answers, number, axis=1)[:, None], candidates))

    same = ops.fori_loop(0, ops.shape(answers)[1], add_answer, ops.logical_not(ops.ones_like(others)))
    return ops.logical_and(same, others)


def multiple_negatives_ranking_loss(
    queries: Tensor,
    passages: Tensor,
    negatives: Tensor | None = None,
    *,
    scale: float = 20.0,
    symmetric: bool = False,
    excluded: Any = False,
) -> Tensor:
    """The cross-entropy of the passage of each query among all passages and negatives of a batch, in nats.

    The loss is that of sentence-transformers' `MultipleNegativesRankingLoss` (van den Oord et al. 2018, equation 4;
    Henderson et al. 2017, section 4). With `symmetric` it is the mean with the cross-entropy of the query of each
    passage among all queries.

    Queries and their passages (batch, width), and further passages, which belong to no query (negatives, width) ->
    float32 (batch,). `scale` is 1 over the temperature; `excluded` (batch, batch + negatives) is true where another
    passage equals the query's passage.
    """
    candidates = passages if negatives is None else ops.concatenate([passages, negatives])
    logits = ops.where(excluded, EXCLUDED, scale * cosine_scores(queries, candidates))
    return ranking_losses(logits, symmetric)


def ranking_losses(logits: Tensor, symmetric: bool) -> Tensor:
    """The losses (batch,) of logits (batch, batch + negatives), see `multiple_negatives_ranking_loss`."""
    rows = ops.shape(logits)[0]
    places = ops.arange(rows)
    losses = cross_entropy(logits, places)
    return (losses + cross_entropy(ops.transpose(logits[:, :rows]), places)) / 2 if symmetric else losses


@keras.saving.register_keras_serializable("keras_bert")
class RankingLoss(keras.losses.Loss):
    """`multiple_negatives_ranking_loss` as a Keras loss of the cosines of all queries of a batch with all passages."""

    def __init__(
        self, scale: float = 20.0, *, symmetric: bool = False, name: str = "ranking_loss", **kwargs: Any
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.scale, self.symmetric = scale, symmetric

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Labels of passages (batch, answers), cosines (batch, batch) -> (batch,).

        A row of labels has that of the row's passage first, then those of its query's other passages, and -1 for none.
        """
        excluded = exclude_answers(y_true, y_true[:, 0])
        logits = self.scale * ops.cast(y_pred, "float32")
        return ranking_losses(ops.where(excluded, EXCLUDED, logits), self.symmetric)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "scale": self.scale, "symmetric": self.symmetric}


def margin_mse_loss(scores: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """The squared difference of a student's from a teacher's margins (Hofstätter et al. 2020, equation 1).

    A margin is the score of a query's passage minus the score of a negative. The mean over rows is the loss of
    sentence-transformers' `MarginMSELoss`.

    Scores of the passage of each query, then of its negatives, twice (batch, 1 + negatives), and a mask, 1 for a
    candidate, 0 for padding -> the mean over the negatives, float32 (batch,); 0 for a row without negatives.
    """
    scores, target = ops.cast(scores, "float32"), ops.cast(target, "float32")
    counted = ops.ones_like(scores) if mask is None else ops.cast(mask, "float32")
    margins = [ops.where(counted > 0, side[:, :1] - side, 0.0)[:, 1:] for side in (scores, target)]
    return ops.sum(ops.square(margins[0] - margins[1]), axis=-1) / ops.maximum(ops.sum(counted[:, 1:], axis=-1), 1.0)


def list_divergence(scores: Tensor, target: Tensor, temperature: float = 1.0, mask: Tensor | None = None) -> Tensor:
    """`divergence` of the softmaxes over a query's candidates (Lin et al. 2021, equation 6), in nats.

    The mean over rows is the loss of sentence-transformers' `DistillKLDivLoss`. For the arguments see
    `margin_mse_loss`; the result is (batch,), float32.
    """
    if mask is not None:
        scores, target = (ops.where(ops.cast(mask, "bool"), side, EXCLUDED) for side in (scores, target))
    return divergence(scores, target, temperature)
