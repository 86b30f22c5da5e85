"""Re-ranking: one score for a query and a passage that are read together, which orders the passages of a query.

Such a model is a cross-encoder (Nogueira and Cho 2019). It has the graph and the files of a regression of pairs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.folding import fold
from keras_bert.options.data import ScoreActivation
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import Array, Features, Runtime
from keras_bert.tasks.checks import as_columns, as_numbers, as_texts
from keras_bert.tasks.regression import Regression

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer


@dataclasses.dataclass(frozen=True)
class RankedPassage:
    """A result of `Reranking.rank`: a passage, its score (larger is better), and its index among the passages."""

    text: str
    score: float
    index: int


class Reranking(Regression):
    """The score of a passage for a query, by which the passages of the query are sorted.

    It learns the order of each query's passages, see `keras_bert.objectives.reranking.order_losses`: the scores of one
    query can be compared with each other, not with those of another query.

    Args:
        model: a model as `build_regressor` returns it, or an exported file; for tokenizer and max_length see `Task`.
        activation: what makes a score of the model's logit, which training and other libraries read as it is: `none`,
            or `sigmoid` for scores from 0 to 1, as many cross-encoders of sentence-transformers have it.

    Raises:
        ValueError: there is no such activation; see also `Regression`.

    Examples:
        >>> reranker = Reranking.build(task.encoder, task.tokenizer, max_length=16)
        >>> rows = ["film", "film"], ["a film", "no"], [1.0, 0.0]
        >>> _ = reranker.fit(*rows, epochs=1, verbose=0)
        >>> len(reranker.predict(["film"], ["a film"]))
        1
    """

    name = "reranking"
    second_text = "required"
    second_name = "passage of each query"
    learns_from_texts = False
    link = None
    library_task = "regression"

    def __init__(
        self,
        model: keras.Model | Runtime,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 128,
        activation: ScoreActivation = "none",
    ) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        rule = f"be one of {get_args(ScoreActivation)}"
        check(type(self).__name__, "activation", activation in get_args(ScoreActivation), rule, activation)
        self.activation: ScoreActivation = activation

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "activation": self.activation}

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from keras_bert.objectives.reranking import RerankingObjective

        self._refuse_class_weights(class_weights)
        return RerankingObjective()

    def loss(self) -> keras.losses.Loss:
        """The mean loss of the lists of a batch.

        Only rows of one batch are compared: `fit` of Keras needs `shuffle=False`; `fit` of the task keeps lists whole.
        """
        from keras_bert.objectives.reranking import ListLoss

        return ListLoss()

    def metrics(self) -> list[keras.metrics.Metric]:
        """None: an order is no sum over rows; `keras_bert.metrics.retrieval` has its scores."""
        return []

    def examples(  # type: ignore[override]
        self, queries: Sequence[str], passages: Sequence[str], relevances: Sequence[float]
    ) -> tuple[Features, Array]:
        """The inputs (rows, length), and relevances and numbers of queries (rows, 2) float32, sorted by query.

        Queries are equal if `keras_bert.core.folding.fold` makes them equal.

        Raises:
            TypeError: a relevance is not a number.
            ValueError: a relevance is not finite.
        """
        queries, passages, relevances = as_columns(queries=queries, passages=passages, relevances=relevances)
        queries, passages = as_texts("queries", queries), as_texts("passages", passages)
        values, numbers = as_numbers("relevances", relevances)[:, 0], dict[str, int]()
        lists = np.array([numbers.setdefault(fold(query), len(numbers)) for query in queries], "float32")
        order = np.argsort(lists, kind="stable")
        inputs = self.encode([queries[row] for row in order], [passages[row] for row in order])
        return inputs, np.stack([values, lists], axis=1)[order]

    def start_scale(self, labels: Array, rows: Mapping[str, Array] | None = None) -> None:
        """Does nothing: scores have no unit, so that the head keeps its scale."""

    def training_rows(self, *data: Any, **pairs: Any) -> dict[str, Array]:
        """See `Task.training_rows`; `value` and `list` are (rows,)."""
        features, labels = self.examples(*data, **pairs)
        return {**features, "value": labels[:, 0], "list": labels[:, 1].astype("int32")}

    def predict(  # type: ignore[override]
        self, queries: Sequence[str], passages: Sequence[str], *, batch_size: int = 32
    ) -> list[float]:
        """The score of each query and its passage: a logit, or what the activation makes of it."""
        logits = super().predict(queries, passages, batch_size=batch_size)
        return logits if self.activation == "none" else np.exp(-np.logaddexp(0, np.negative(logits))).tolist()

    def rank(self, query: str, passages: Sequence[str], *, top_k: int | None = None) -> list[RankedPassage]:
        """The passages with their scores, best first; of equal scores the earlier passage first.

        Args:
            query: the query.
            passages: the passages, such as the results of a search.
            top_k: maximum number of results; None for all.

        Raises:
            ValueError: `top_k` is below 1.

        Examples:
            >>> reranker = Reranking.build(task.encoder, task.tokenizer, max_length=16)
            >>> [passage.index for passage in reranker.rank("film", ["film film"], top_k=1)]
            [0]
        """
        check(type(self).__name__, "top_k", top_k is None or top_k >= 1, "be at least 1", top_k)
        passages = as_texts("passages", passages)
        scores = self.predict([query] * len(passages), passages)
        best = np.argsort(-np.array(scores), kind="stable")[:top_k]
        return [RankedPassage(passages[index], scores[index], int(index)) for index in best]

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        return {"score": float}

    def _encode(self, texts: list[str], pairs: list[str] | None) -> Features:
        if pairs is None:
            raise ValueError("passages must be given, one for each query, got none")
        return super()._encode(texts, pairs)
