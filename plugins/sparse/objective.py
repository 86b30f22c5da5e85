"""The contrastive objective of sparse vectors, with a price for each token of the vocabulary that has a weight."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Batch
from keras_bert.objectives.retrieval import RetrievalObjective


def flops(vectors: Tensor) -> Tensor:
    """The sum over the vocabulary of the squared mean weight (Paria et al. 2020, equation 4): (texts, vocabulary)."""
    return ops.sum(ops.square(ops.mean(vectors, axis=0)))


@dataclasses.dataclass(frozen=True)
class SparseObjective(RetrievalObjective):
    """A `RetrievalObjective` of inner products, plus the `flops` of queries and of passages with their negatives.

    Attributes:
        query_flops: the factor of the queries' flops.
        passage_flops: the factor of the flops of passages and negatives.
        query_weights: the weight of each token where queries are read without the model; None for the model's vectors.
    """

    query_flops: float = 0.0
    passage_flops: float = 0.0
    query_weights: tuple[float, ...] | None = None

    def run(self, model: keras.Model, batch: Batch, training: bool) -> Any:
        """See `RetrievalObjective.run`."""
        if self.query_weights is None:
            return super().run(model, batch, training)
        weights, names = ops.convert_to_tensor(self.query_weights, "float32"), [spec.name for spec in model.inputs]
        counted = ops.one_hot(batch["token_ids"], len(self.query_weights))
        counted = counted * ops.cast(batch["padding_mask"], "float32")[..., None]
        passages = {name: ops.concatenate([batch[f"second_{name}"], batch[f"negative_{name}"]]) for name in names}
        return ops.concatenate([ops.max(counted, axis=1) * weights, self.answers(model(passages, training=training))])

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """See `RetrievalObjective.inputs`."""
        rule = "be left out where states or attention are imitated, which queries do not have"
        check("SparseObjective", "query_weights", self.query_weights is None, rule, "a weight for each token")
        return super().inputs(model, batch)

    def similarities(self, queries: Tensor, texts: Tensor) -> Tensor:
        """The inner products."""
        return ops.matmul(queries, ops.transpose(texts))

    def losses(self, outputs: Tensor, batch: Batch) -> Tensor:
        """The loss of each query or triplet, and the same price of all weights in each of them."""
        rows = ops.shape(batch["passage_group"])[0]
        price = self.passage_flops * flops(outputs[rows:])
        if self.query_weights is None:
            price = price + self.query_flops * flops(outputs[:rows])
        return super().losses(outputs, batch) + price
