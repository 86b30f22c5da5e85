"""Late interaction: a vector for each token of a text (ColBERT, Khattab and Zaharia 2020)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.core.row_limits import limit_batch_size
from keras_bert.core.validation import read_json
from keras_bert.core.vector_codes import VectorCode
from keras_bert.data.schemas import SCHEMAS
from keras_bert.options.data import Projection
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import Array, Features, Runtime, pad_batch, slices
from keras_bert.tasks.checks import as_columns, as_texts, is_keras_model
from keras_bert.tasks.embedding import Match, PromptName
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tasks.targets import RowWords, Target
from plugins.late_interaction.tokens import TokenRules, compare_tokens, mark_rows, pool_tokens

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer

# The width of ColBERT's vectors.
WIDTH = 128


def build_late_interaction(
    encoder: keras.Model, projections: Sequence[Projection | Mapping[str, Any]] | None = None
) -> keras.Model:
    """Adds dense layers to each state of an encoder, whose weights the result shares, and scales vectors to length 1.

    Returns:
        A model from the encoder's inputs to all of its outputs and `embedding` (batch, length, width).
    """
    import keras

    from keras_bert.layers.heads import Projections
    from keras_bert.models.encoder import sequence_output
    from keras_bert.models.global_tokens import with_global_tokens

    encoder, projecting = with_global_tokens(encoder, "none"), getattr(encoder, "projections", None)
    if projecting is None or projections is not None:
        items = projections or [Projection(units=WIDTH, activation="none", use_bias=False)]
        values = [
            dataclasses.asdict(item if isinstance(item, Projection) else read_json(Projection, item, "projections"))
            for item in items
        ]
        if projecting is None or projecting.projections != values:
            projecting = Projections(values, name="projections")
    vectors = projecting(sequence_output(encoder))
    vectors = keras.layers.UnitNormalization(name="normalization", dtype="float32")(vectors)
    return keras.Model(encoder.input, {**encoder.output, "embedding": vectors}, name="late_interaction")


class LateInteraction(Retrieval):
    """A vector for each token; the score of a query and a passage adds up the best match of each token of the query.

    It learns from queries and passages, see `LateObjective`, with `keras_bert.fit`.

    Args:
        model: a model as `build_late_interaction` returns it, or an exported file; for the tokenizer see `Task`.
        max_length: the most tokens of a passage, special tokens and the prefix included.
        contrast: the fields of `Contrast`; None for the defaults with the scale 1.
        rules: the fields of `TokenRules`; None for the defaults, with queries no longer than the model's positions.
        settings: those of `Embedding`, such as `prompts`.

    Raises:
        ValueError: see `Embedding`; a prefix is no token, or a query has more tokens than the model has positions.
    """

    name = "late_interaction"
    schema = SCHEMAS["retrieval"]
    needs_pooling = False
    marks_rows = True
    library_task: ClassVar[str] = ""

    def __init__(
        self,
        model: keras.Model | Runtime,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 180,
        contrast: Mapping[str, Any] | None = None,
        rules: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        owner = type(self).__name__
        settings = {
            "similarity_function": "dot",
            "contrast": {"scale": 1.0} if contrast is None else contrast,
            **settings,
        }
        super().__init__(model, tokenizer, max_length=max_length, **settings)
        function = self.similarity_function
        check(owner, "similarity_function", function == "dot", "be 'dot'", function)
        for name in ("dimensions", "across_micro_batches"):
            value = getattr(self.contrast, name)
            check(owner, f"contrast.{name}", not value, "be left out for vectors of tokens", value)
        self.rules = read_json(TokenRules, {"query_length": min(32, self.positions), **(rules or {})}, "rules")
        length = self.rules.query_length
        check(owner, "rules.query_length", 4 <= length <= self.positions, f"be 4 to {self.positions}", length)
        ids = {token: number for number, token in enumerate(tokenizer.vocabulary)}
        for name in ("query_prefix", "document_prefix"):
            prefix = getattr(self.rules, name)
            check(owner, f"rules.{name}", not prefix or prefix in ids, "be a token of the vocabulary", prefix)
        unattended = self.rules.do_query_expansion and not self.rules.attend_to_expansion_tokens
        filling = (tokenizer.mask_id, -1 if unattended else 1) if self.rules.do_query_expansion else None
        query, document = (ids.get(prefix) for prefix in (self.rules.query_prefix, self.rules.document_prefix))
        shared: dict[str, Any] = {"sep_id": tokenizer.sep_id}
        self._query_marks = {**shared, "prefix": query, "length": length, "filling": filling}
        self._passage_marks = {**shared, "prefix": document, "length": self.max_length, "filling": None}
        self._skipped = sorted({ids.get(word, tokenizer.unknown_id) for word in self.rules.skiplist_words})
        if unattended and is_keras_model(model):
            from keras_bert.families.modernbert.settings import ModernBERT
            from keras_bert.models.encoder import config_of

            variant = config_of(model).variant
            rule = "be None or modernbert where rules.attend_to_expansion_tokens is false; set it"
            check(owner, "model.variant", variant is None or isinstance(variant, ModernBERT), rule, variant)

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 180,
        projections: Sequence[Projection | Mapping[str, Any]] | None = None,
        **settings: Any,
    ) -> Self:
        """Adds dense layers to an encoder, see `build_late_interaction`; `settings` are those of the constructor.

        An encoder of such a task keeps that task's layers and rules.
        """
        # A job passes on how the vectors of its start are compared and scaled.
        settings.pop("similarity_function", None)
        origin: Any = getattr(encoder, "origin", None)
        kept = {"rules": origin.settings()["rules"]} if isinstance(origin, LateInteraction) else {}
        if projections is None and not kept:
            projections = [Projection(units=WIDTH, activation="none", use_bias=False)]
        model = build_late_interaction(encoder, projections)
        return cls(model, tokenizer, max_length=max_length, **{**kept, **settings})

    def settings(self) -> dict[str, Any]:
        """Those of `Retrieval`, and the rules."""
        rules = dataclasses.asdict(self.rules)
        return {**super().settings(), "rules": {**rules, "skiplist_words": list(self.rules.skiplist_words)}}

    def head(self) -> dict[str, Any]:
        """The dense layers, `projections`."""
        return {"projections": [dict(values) for values in self.model.get_layer("projections").projections]}

    def _settings_of(self, dimension: int) -> dict[str, Any]:
        raise ValueError(f"LateInteraction has vectors of {WIDTH} numbers by its dense layers, got width {dimension}")

    @property
    def pools_to_vector(self) -> bool:
        """False: a text has many vectors."""
        return False

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from plugins.late_interaction.objective import LateObjective

        self._refuse_class_weights(class_weights)
        return LateObjective(self.contrast, self._query_marks, self._passage_marks, tuple(self._skipped))

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Raises ValueError: the loss compares all tokens of a batch, which only `fit` does."""
        raise ValueError("LateInteraction must be trained by keras_bert.fit, got compile")

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """The mean cosine of the vectors (rows, length, width) of each row's tokens, 0 where it is negative."""
        cosines = (np.asarray(reference) * np.asarray(candidate)).sum(axis=-1) * padding_mask
        return np.clip(cosines.sum(axis=1) / np.maximum(padding_mask.sum(axis=1), 1), 0, 1)

    def encode_side(self, texts: Sequence[str], *, is_query: bool) -> tuple[Features, Array]:
        """The model's inputs of queries or of passages, and which tokens have a part in scores (rows, length)."""
        marks = self._query_marks if is_query else self._passage_marks
        features = self.encode(texts)
        ids, mask = mark_rows(np, features["token_ids"], features["padding_mask"], **marks)
        ids, mask = ids.astype("int32"), mask.astype("int32")
        counted = (mask != 0) if is_query else (mask == 1) & ~np.isin(ids, self._skipped)
        return {"token_ids": ids, "segment_ids": np.zeros_like(ids), "padding_mask": mask}, counted

    def predict(  # type: ignore[override]
        self, texts: Sequence[str], *, batch_size: int = 32, prompt: PromptName = "", pool_factor: int = 1
    ) -> list[Array]:
        """The vectors of each text (tokens, width) float32.

        Args:
            texts: the texts.
            batch_size: rows of a batch; batches of rows with more than 512 tokens are smaller.
            prompt: which of `prompts` stands in front of each text; "query" also says that the texts are queries.
            pool_factor: how many similar vectors of a passage become their mean, about; 1 for none.
        """
        check(type(self).__name__, "batch_size", batch_size >= 1, "be at least 1", batch_size)
        check(type(self).__name__, "pool_factor", pool_factor >= 1, "be at least 1", pool_factor)
        texts, is_query = self._prompted(prompt, texts), prompt == "query"
        names = [spec.name for spec in self.model.inputs] if is_keras_model(self.model) else INPUT_NAMES
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        answers: list[Any] = [None] * len(texts)
        with self._answering():
            for part in slices(len(texts), limit_batch_size(batch_size, self.max_length)):
                rows = order[part]
                features, counted = self.encode_side([texts[row] for row in rows], is_query=is_query)
                width = features["token_ids"].shape[1]
                batch = pad_batch(features, np.arange(len(rows)), width, self.positions)
                vectors = self.model.predict_on_batch({name: batch[name] for name in names})["embedding"]
                for row, values, kept in zip(rows, np.asarray(vectors, "float32"), counted, strict=True):
                    answers[row] = values[:width][kept]
        return answers if is_query or pool_factor == 1 else [pool_tokens(vectors, pool_factor) for vectors in answers]

    def compare(self, first: Any, second: Any) -> Array:
        """`compare_tokens` of the vectors of queries and of passages: n and m arrays -> float32 (n, m)."""
        return compare_tokens(first, second)

    def compare_pairs(self, first: Any, second: Any) -> list[float]:
        """The score of each query and the passage beside it."""
        return [float(compare_tokens([one], [other])[0, 0]) for one, other in zip(first, second, strict=True)]

    def search(
        self, queries: Sequence[str], texts: Sequence[str], *, top_k: int = 5, vectors: Any = None
    ) -> list[list[Match]]:
        """See `Embedding.search`; `vectors` are the result of `predict(texts, prompt="passage")`."""
        check("LateInteraction", "top_k", top_k >= 1, "be at least 1", top_k)
        texts = as_texts("texts", texts)
        vectors = self.predict(texts, prompt="passage") if vectors is None else list(vectors)
        as_columns(texts=texts, vectors=vectors)
        matches = []
        for query in self.predict(queries, prompt="query"):
            (scores,) = compare_tokens([query], vectors)
            best = np.argsort(-scores, kind="stable")[:top_k]
            matches.append([Match(texts[index], float(scores[index]), int(index)) for index in best])
        return matches

    @classmethod
    def find_explanation_obstacle(cls, settings: Mapping[str, Any]) -> str | None:
        """See `Task`; a score is no number of a single vector of a text."""
        return "LateInteraction has no number of one text that can be explained"

    def target(self, choice: str, outputs: Any, row: RowWords) -> Target:
        """Raises ValueError with the reason of `find_explanation_obstacle`."""
        raise ValueError(self.find_explanation_obstacle({}))

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """`tokens`, the number of vectors, and `vectors`, their numbers one after the other; of pairs `similarity`."""
        self._check_code(self.vector_code)
        return {"similarity": float} if paired else {"tokens": int, "vectors": list[float]}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        """The vectors of each text; or the score of each query and its passage."""
        self._check_code(self.vector_code)
        if seconds is None:
            vectors = self.predict(texts, prompt=self.single_prompt)
            return ((len(rows), rows.reshape(-1).tolist()) for rows in vectors)
        queries, passages = as_columns(texts=texts, seconds=seconds)
        return zip(self.compare_pairs(self.predict(queries, prompt="query"), self.predict(passages, prompt="passage")))

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The vectors as JSON, a line for each token; of a pair the score, and both texts."""
        if len(texts) == 2:
            return super().format_answer(values, texts)
        width = len(values[1]) // values[0]
        rows = np.reshape(values[1], (-1, width)).tolist()
        return [(json.dumps([round(number, 6) for number in row]),) for row in rows]

    def _check_code(self, code: VectorCode) -> None:
        check(type(self).__name__, "vector_code", code == "float32", "be 'float32' for vectors of tokens", code)
