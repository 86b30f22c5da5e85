"""Retrieval: vectors of queries near the vectors of the passages that answer them (Karpukhin et al. 2020)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.core.folding import fold
from keras_bert.core.validation import read_json
from keras_bert.data.schemas import group_passages
from keras_bert.options.training import Contrast
from keras_bert.tasks.base import Array, Features, Runtime, pad_rows
from keras_bert.tasks.checks import as_columns
from keras_bert.tasks.embedding import Embedding

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer


class Retrieval(Embedding):
    """An embedding that learns from queries and the passages that answer them.

    To train it, fit `similarity`, not `model`: the passages of a batch are negatives of each other's queries.

    Args:
        model: a model as `build_embedder` returns it, or an exported file; for tokenizer and max_length see `Task`.
        prompts: see `Embedding`, also for `normalize` and `similarity_function`.
        contrast: the fields of `Contrast`, the settings of the loss; None for the defaults.

    Raises:
        ValueError: see `Embedding`; or a setting of the loss is out of range.

    Examples:
        >>> retrieval = Retrieval.build(task.encoder, task.tokenizer, max_length=16)
        >>> x, y = retrieval.examples(["film", "film film"], ["a film", "film film film"])
        >>> retrieval.compile(keras_bert.adamw(1e-3, steps=1))
        >>> _ = retrieval.similarity.fit(x, y, batch_size=2, verbose=0)
    """

    name = "retrieval"

    def __init__(
        self,
        model: keras.Model | Runtime,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 256,
        prompts: Mapping[str, str] | None = None,
        contrast: Mapping[str, Any] | None = None,
        **vectors: Any,
    ) -> None:
        super().__init__(model, tokenizer, max_length=max_length, prompts=prompts, **vectors)
        self.contrast = read_json(Contrast, contrast or {}, "contrast")
        self.contrast.check_width(int(model.output["embedding"].shape[-1]) + 1)

    def settings(self) -> dict[str, Any]:
        """Those of `Embedding`, and `contrast`, where it is not the default."""
        changed = {
            field.name: getattr(self.contrast, field.name)
            for field in dataclasses.fields(Contrast)
            if getattr(self.contrast, field.name) != field.default
        }
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}
        return {**super().settings(), **({"contrast": plain} if plain else {})}

    def _settings_of(self, dimension: int) -> dict[str, Any]:
        """Those of `Embedding`; the loss keeps the dimensions that are smaller."""
        smaller = tuple(width for width in self.contrast.dimensions if width < dimension)
        contrast = dataclasses.asdict(dataclasses.replace(self.contrast, dimensions=smaller))
        return {**super()._settings_of(dimension), "contrast": contrast}

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from keras_bert.objectives.retrieval import RetrievalObjective

        self._refuse_class_weights(class_weights)
        self._check_trained_function()
        return RetrievalObjective(self.contrast)

    @functools.cached_property
    def similarity(self) -> keras.Model:
        """From `first_...` and `second_...` inputs to the cosines of all queries with all passages (batch, batch)."""
        import keras

        from keras_bert.layers.heads import CrossCosine

        model = self._two_texts()
        return keras.Model(model.input, CrossCosine(name="cosines")(*model.output), name="similarity")

    def loss(self) -> keras.losses.Loss:
        """The ranking loss of the passages of a batch, by `Contrast.scale` and `Contrast.symmetric`.

        Raises:
            ValueError: the loss is one of triplets, which only `Trainer` supports.
        """
        from keras_bert.objectives.contrast import RankingLoss

        is_ranking = self.contrast.loss == "multiple_negatives"
        check(type(self).__name__, "contrast.loss", is_ranking, "be 'multiple_negatives' for fit", self.contrast.loss)
        return RankingLoss(self.contrast.scale, symmetric=self.contrast.symmetric)

    def examples(self, texts: Sequence[str], others: Sequence[str]) -> tuple[Features, Array]:  # type: ignore[override]
        """Arguments of `similarity.fit`: the inputs of queries and of their passages (rows, length), with prompts.

        A row of the labels (rows, answers) int32 has that of its passage first, then those of its query's other
        passages, none of which is a negative of the query, and then -1. Passages that answer the same queries have
        equal labels; texts are equal if `keras_bert.core.folding.fold` makes them equal.
        """
        queries, passages = as_columns(texts=texts, others=others)
        inputs = self._encode_sides(queries, passages)
        folded = [(fold(query), fold(passage)) for query, passage in zip(queries, passages, strict=True)]
        indices = {passage: index for index, passage in enumerate(dict.fromkeys(passage for _, passage in folded))}
        answers: dict[str, dict[int, None]] = {query: {} for query, _ in folded}
        for query, passage in folded:
            answers[query][indices[passage]] = None
        groups = group_passages(answers.values(), len(indices))
        labels = {query: dict.fromkeys(groups[index] for index in answers[query]) for query in answers}
        rows = [[*dict.fromkeys((groups[indices[passage]], *labels[query]))] for query, passage in folded]
        return inputs, pad_rows(rows, filling=-1)

    def training_rows(self, *data: Any, **pairs: Any) -> dict[str, Array]:
        """See `Task.training_rows`; rows have no negatives but the passages of other queries."""
        features, groups = self.examples(*data, **pairs)
        rows = {name.removeprefix("first_"): array for name, array in features.items()}
        # The objective widens queries to the width of passages, which must not be narrower.
        missing = max(0, rows["token_ids"].shape[1] - rows["second_token_ids"].shape[1])
        rows |= {
            name: np.pad(array, ((0, 0), (0, missing))) for name, array in rows.items() if name.startswith("second_")
        }
        none = {f"negative_{name}": rows[f"second_{name}"][:0] for name in INPUT_NAMES}
        numbers = {name: np.zeros(0, "int32") for name in ("negative_group", "negative_row")}
        return {**rows, **none, **numbers, "answer_groups": groups, "passage_group": groups[:, 0]}
