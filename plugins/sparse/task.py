"""Sparse retrieval: a text is a weight for each token of the vocabulary (Formal et al. 2021, SPLADE v2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, vstack

from keras_bert.core.checks import check
from keras_bert.core.vector_codes import VectorCode
from keras_bert.data.schemas import SCHEMAS
from keras_bert.tasks.answer_columns import ColumnType
from keras_bert.tasks.base import ROWS_AT_ONCE, Array, Runtime, slices
from keras_bert.tasks.checks import as_columns, as_texts
from keras_bert.tasks.embedding import Embedding, Match, PromptName
from keras_bert.tasks.retrieval import Retrieval
from keras_bert.tasks.targets import RowWords, Target

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer

# Task -> the layers of its head of masked tokens. Students take layers with the former names from their teachers.
_HEADS = {
    "sparse": ("prediction_head", "classifier"),
    "pretraining": ("masked_token_transform", "masked_token_bias"),
}
# The factors of the in-batch training in sentence-transformers' examples of SPLADE.
QUERY_FLOPS, PASSAGE_FLOPS = 5e-5, 3e-5
# Texts whose vectors are in memory with their zeros, 120 kB each with BERT's vocabulary.
_TEXTS_AT_ONCE = 512


def build_sparse(encoder: keras.Model) -> keras.Model:
    """Adds a head of masked tokens and the maximum over the tokens to an encoder, whose weights the result shares.

    The head is that of the task that `Task.encoder` took the encoder from, where it has one: pre-training or sparse
    retrieval. Another head is random.

    Returns:
        A model from the encoder's inputs to all of its outputs and `embedding` (batch, vocabulary), at least 0.

    Raises:
        ValueError: the encoder has MobileBERT's graph, whose head has a further matrix.
    """
    import keras

    from keras_bert.families.mobilebert.settings import MobileBERT
    from keras_bert.layers.heads import PredictionHead
    from keras_bert.models.encoder import config_of, has_prediction_head, sequence_output
    from keras_bert.models.global_tokens import with_global_tokens
    from plugins.sparse.layers import TermWeights

    config = config_of(encoder)
    origin: Any = getattr(encoder, "origin", None)
    is_mobile = isinstance(config.variant, MobileBERT)
    check("build_sparse", "encoder", not is_mobile, "have another variant than mobilebert", config.variant)
    copied = [origin.model.get_layer(name) for name in _HEADS.get(getattr(origin, "name", ""), ())]
    encoder = with_global_tokens(encoder, "none")
    transform = PredictionHead(
        copied[0].activation if copied else config.activation,
        config.layer_norm_epsilon,
        config.initializer_range,
        config.embedding_size,
        use_bias=not has_prediction_head(config),
        name=_HEADS["sparse"][0],
    )
    output = TermWeights(name=_HEADS["sparse"][1])
    scores = encoder.get_layer("token_embedding")(transform(sequence_output(encoder)), reverse=True)
    vectors = output(scores, encoder.input["padding_mask"])
    if copied:
        transform.set_weights(copied[0].get_weights())
        output.set_weights(copied[1].get_weights())
    return keras.Model(encoder.input, {**encoder.output, "embedding": vectors}, name="sparse")


class Sparse(Retrieval):
    """A weight for each token of the vocabulary, most of them 0; texts are compared by inner products.

    It learns from queries and passages, see `SparseObjective`, with `keras_bert.fit`.

    Args:
        model: a model as `build_sparse` returns it, or an exported file; for the tokenizer and max_length see `Task`.
        contrast: the fields of `Contrast`; None for the defaults with the scale 1, as inner products have no bound.
        query_weights: the weight of each token of the vocabulary (vocabulary,). A query then has the weights of its
            tokens, and no model reads it (Geng et al. 2024); None for the model's vectors. Special tokens have none.
        query_flops: the factor of the queries' FLOPS (Paria et al. 2020) in the loss.
        passage_flops: the factor of the FLOPS of passages and negatives.
        settings: those of `Embedding`, such as `prompts`.

    Raises:
        ValueError: see `Embedding`; there is not a weight for each token, or one is negative or not finite.
    """

    name = "sparse"
    has_own_head = False
    schema = SCHEMAS["retrieval"]
    needs_pooling = False
    library_task: ClassVar[str] = ""

    top_terms: int = 10
    """How many terms of a text `answer_values` shows; an instance may have another number."""

    def __init__(
        self,
        model: keras.Model | Runtime,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 256,
        contrast: Mapping[str, Any] | None = None,
        query_weights: Sequence[float] | None = None,
        query_flops: float = QUERY_FLOPS,
        passage_flops: float = PASSAGE_FLOPS,
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
        widths = list(self.contrast.dimensions)
        check(owner, "contrast.dimensions", not widths, "be left out, as terms have no order", widths)
        for name, factor in (("query_flops", query_flops), ("passage_flops", passage_flops)):
            check(owner, name, 0 <= factor < float("inf"), "be at least 0 and finite", factor)
        self.query_flops, self.passage_flops = float(query_flops), float(passage_flops)
        self.query_weights: Array | None = None
        self.runs_queries = query_weights is None
        if query_weights is not None:
            weights = np.array(query_weights, "float32")
            rule = f"hold a weight for each of {tokenizer.vocabulary_size} tokens"
            check(owner, "query_weights", weights.shape == (tokenizer.vocabulary_size,), rule, weights.shape)
            is_weight = bool((np.isfinite(weights) & (weights >= 0)).all())
            check(owner, "query_weights", is_weight, "be at least 0 and finite", float(weights.min()))
            weights[[number for number in tokenizer.special_ids if number != tokenizer.unknown_id]] = 0
            self.query_weights = weights

    @classmethod
    def build(cls, encoder: keras.Model, tokenizer: BaseTokenizer, *, max_length: int = 256, **settings: Any) -> Self:
        """Adds the head to an encoder, see `build_sparse`; `settings` are those of the constructor.

        An encoder of a sparse task keeps that task's weights of queries and factors of FLOPS.
        """
        # A job passes on how the vectors of its start are compared.
        settings.pop("similarity_function", None)
        origin = getattr(encoder, "origin", None)
        kept = origin._own_settings() if isinstance(origin, Sparse) else {}
        return cls(build_sparse(encoder), tokenizer, max_length=max_length, **{**kept, **settings})

    def settings(self) -> dict[str, Any]:
        """Those of `Retrieval`, the factors of FLOPS, and the weights of queries where there are some."""
        return {**super().settings(), **self._own_settings()}

    def _own_settings(self) -> dict[str, Any]:
        # Nine digits are exact for float32.
        weights = None if self.query_weights is None else [float(f"{weight:.9g}") for weight in self.query_weights]
        factors = {"query_flops": self.query_flops, "passage_flops": self.passage_flops}
        return {**factors, **({} if weights is None else {"query_weights": weights})}

    def _settings_of(self, dimension: int) -> dict[str, Any]:
        raise ValueError(f"a number of Sparse vectors belongs to a token: they have no other width, got {dimension}")

    def head(self) -> dict[str, Any]:
        """No settings: the head is that of masked tokens."""
        return {}

    @property
    def pools_to_vector(self) -> bool:
        """False: the vector is no state."""
        return False

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from plugins.sparse.objective import SparseObjective

        self._refuse_class_weights(class_weights)
        weights = None if self.query_weights is None else tuple(map(float, self.query_weights))
        return SparseObjective(self.contrast, self.query_flops, self.passage_flops, weights)

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Raises ValueError: the loss compares all vectors of a batch, which only `fit` does."""
        raise ValueError("Sparse must be trained by keras_bert.fit, got compile")

    def term_vectors(self, texts: Sequence[str], *, batch_size: int = 32, prompt: PromptName = "") -> csr_array:
        """The vector of each text (texts, vocabulary) float32 as a sparse matrix; for the arguments see `predict`."""
        texts = self._prompted(prompt, texts)
        if prompt == "query" and self.query_weights is not None:
            rows = [sorted(set(ids[: self.max_length])) for ids in self.tokenizer.tokenize(texts).to_list()]
            columns = np.array([number for row in rows for number in row], "int64")
            starts = np.cumsum([0, *map(len, rows)])
            vectors = csr_array((self.query_weights[columns], columns, starts), (len(rows), len(self.query_weights)))
            vectors.eliminate_zeros()
            return vectors
        parts = (
            self.outputs(texts[part], batch_size=batch_size, keep=lambda outputs: outputs["embedding"])
            for part in slices(len(texts), _TEXTS_AT_ONCE)
        )
        return csr_array(vstack([csr_array(np.stack(list(part)).astype("float32")) for part in parts]))

    def predict(self, texts: Sequence[str], *, batch_size: int = 32, prompt: PromptName = "") -> Array:
        """The vector of each text: (texts, vocabulary) float32; `term_vectors` returns them without their zeros.

        Args:
            texts: the texts.
            batch_size: see `Task.forward`.
            prompt: which of `prompts` stands in front of each text; empty for none. With `query_weights` those of
                "query" are read without the model.
        """
        return np.asarray(self.term_vectors(texts, batch_size=batch_size, prompt=prompt).toarray())

    def compare(self, first: Any, second: Any) -> Array:
        """The inner products of all pairs: (n, vocabulary), (m, vocabulary), sparse or not -> float32 (n, m)."""
        products = first @ second.T
        return np.asarray(products.toarray() if hasattr(products, "toarray") else products, "float32")

    def search(
        self, queries: Sequence[str], texts: Sequence[str], *, top_k: int = 5, vectors: Any = None
    ) -> list[list[Match]]:
        """See `Embedding.search`; `vectors` are the result of `term_vectors(texts, prompt="passage")`."""
        check("Sparse", "top_k", top_k >= 1, "be at least 1", top_k)
        texts = as_texts("texts", texts)
        vectors = self.term_vectors(texts, prompt="passage") if vectors is None else csr_array(vectors)
        shape = (len(texts), self.tokenizer.vocabulary_size)
        check("Sparse", "vectors", vectors.shape == shape, f"be {shape}", vectors.shape)
        rows = self.compare(self.term_vectors(queries, prompt="query"), vectors)
        best = np.argsort(-rows, axis=1, kind="stable")[:, :top_k]
        return [
            [Match(texts[index], float(row[index]), int(index)) for index in indices]
            for row, indices in zip(rows, best, strict=True)
        ]

    @classmethod
    def find_explanation_obstacle(cls, settings: Mapping[str, Any]) -> str | None:
        """See `Task`; with `query_weights` no model reads a query."""
        if settings.get("query_weights") is None:
            return None
        return "Sparse.query_weights must be None to be explained, as no model reads a query with them"

    def target(self, choice: str, outputs: Any, row: RowWords) -> Target:
        """The inner product of the text's vector and the fixed vector of a passage, `choice`."""
        if obstacle := self.find_explanation_obstacle(self.settings()):
            raise ValueError(obstacle)
        return Embedding.target(self, choice, outputs, row)

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """`terms` and `weights`, those of the largest weights first; of pairs `similarity`."""
        self._check_code(self.vector_code)
        return {"similarity": float} if paired else {"terms": list[str], "weights": list[float]}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        """The `top_terms` tokens of each text with the largest weights; or the similarity of each pair.

        A single text gets the prompt `single_prompt`, queries and passages get theirs.
        """
        self._check_code(self.vector_code)
        if seconds is None:
            for row in self.term_vectors(texts, prompt=self.single_prompt):
                vector = row.toarray().reshape(-1)
                best = np.argsort(-vector, kind="stable")[: min(self.top_terms, np.count_nonzero(vector))]
                yield [self.tokenizer.vocabulary[number] for number in best], vector[best].tolist()
            return
        queries, passages = as_columns(texts=texts, seconds=seconds)
        sides = self.term_vectors(queries, prompt="query"), self.term_vectors(passages, prompt="passage")
        yield from ((float(score),) for score in sides[0].multiply(sides[1]).sum(axis=1))

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The terms and their weights as JSON; of a pair the similarity, and both texts."""
        if len(texts) == 2:
            return super().format_answer(values, texts)
        weights = (round(weight, 4) for weight in values[1])
        return [(json.dumps(dict(zip(values[0], weights, strict=True)), ensure_ascii=False), *texts)]

    def _check_code(self, code: VectorCode) -> None:
        check(type(self).__name__, "vector_code", code == "float32", "be 'float32' for sparse vectors", code)


def idf_weights(tokenizer: BaseTokenizer, texts: Sequence[str]) -> Array:
    """Weights of queries' tokens from texts: log(1 + (n - df + 0.5) / (df + 0.5)), as in BM25.

    Robertson and Zaragoza 2009, equation 3.3, with the 1 of Lucene, so that no weight is negative; n is the number of
    texts and df (vocabulary,) in how many of them a token occurs.
    """
    counts = np.zeros(tokenizer.vocabulary_size)
    for part in slices(len(texts), ROWS_AT_ONCE):
        for ids in tokenizer.tokenize(list(texts[part])).to_list():
            counts[list(set(ids))] += 1
    return np.log1p((len(texts) - counts + 0.5) / (counts + 0.5)).astype("float32")
