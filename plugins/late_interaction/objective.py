"""The contrastive objective of late interaction."""

import dataclasses
from typing import Any

import keras
from keras import ops

from keras_bert.core.checks import check
from keras_bert.core.tensors import Tensor
from keras_bert.objectives.base import Batch
from keras_bert.objectives.retrieval import RetrievalObjective
from plugins.late_interaction.tokens import mark_rows

# The inner product of a token that has no part in scores.
_LEAST = -1e4


@dataclasses.dataclass(frozen=True)
class LateObjective(RetrievalObjective):
    """A `RetrievalObjective` whose scores are the sums of a query's best matches (Khattab and Zaharia 2020).

    Vectors of tokens that have no part in scores are 0.

    Attributes:
        query: the arguments of `mark_rows` for queries.
        passage: those for passages and negatives.
        skipped: the ids of tokens of passages that have no part in scores.
    """

    query: dict[str, Any] = dataclasses.field(default_factory=dict)
    passage: dict[str, Any] = dataclasses.field(default_factory=dict)
    skipped: tuple[int, ...] = ()

    def run(self, model: keras.Model, batch: Batch, training: bool) -> Any:
        """The vectors of all tokens (texts, length, width) of queries, passages and negatives, float32."""
        names = [spec.name for spec in model.inputs]
        queries = self._vectors(model, {name: batch[name] for name in names}, self.query, (), training)
        texts = {name: ops.concatenate([batch[f"second_{name}"], batch[f"negative_{name}"]]) for name in names}
        passages = self._vectors(model, texts, self.passage, self.skipped, training)
        width = ops.maximum(ops.shape(queries)[1], ops.shape(passages)[1])
        return ops.concatenate([_lengthen(side, width) for side in (queries, passages)])

    def _vectors(
        self,
        model: keras.Model,
        inputs: dict[str, Any],
        marks: dict[str, Any],
        skipped: tuple[int, ...],
        training: bool,
    ) -> Tensor:
        ids, mask = (ops.convert_to_tensor(inputs[name]) for name in ("token_ids", "padding_mask"))
        ids, mask = mark_rows(ops, ids, mask, **marks)
        rows = {**inputs, "token_ids": ids, "padding_mask": mask}
        if "segment_ids" in inputs:
            rows["segment_ids"] = ops.zeros_like(ids)
        counted = ops.not_equal(mask, 0)
        for token in skipped:
            counted = ops.logical_and(counted, ops.not_equal(ids, token))
        vectors = self.answers(model(rows, training=training))
        return ops.where(counted[..., None], vectors, 0.0)

    def inputs(self, model: keras.Model, batch: Batch) -> dict[str, Any]:
        """Raises FieldError: queries and passages are no rows of one call."""
        check("LateObjective", "imitation", False, "be left out, as queries and passages have other tokens", "one")
        return {}

    def similarities(self, queries: Tensor, texts: Tensor) -> Tensor:
        """The scores of all queries with all texts, both (n, length, width) -> (n, m)."""
        products = ops.einsum("qiw,tjw->qtij", queries, texts)
        is_counted = ops.any(ops.not_equal(texts, 0.0), axis=-1)
        best = ops.max(ops.where(is_counted[None, :, None, :], products, _LEAST), axis=-1)
        return ops.sum(ops.where(ops.any(ops.not_equal(queries, 0.0), axis=-1)[:, None, :], best, 0.0), axis=-1)


def _lengthen(vectors: Tensor, length: Any) -> Tensor:
    texts, tokens, width = ops.shape(vectors)
    return ops.concatenate([vectors, ops.zeros((texts, length - tokens, width))], axis=1)
