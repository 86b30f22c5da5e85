"""Sentence embedding: one vector for each text, near to those of similar texts (Reimers and Gurevych 2019)."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from keras_bert.checks import check
from keras_bert.folders import HIDDEN_STATES, SENTENCE_VECTOR
from keras_bert.options.pooling import Pooling
from keras_bert.tasks.answer_columns import ColumnType, Vector
from keras_bert.tasks.base import Array, Features, Runtime, Task
from keras_bert.tasks.checks import as_numbers, as_texts, check_keras_model, check_same_length
from keras_bert.tasks.targets import Target, WordPlaces

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer


def build_embedder(encoder: keras.Model, *, pooling: Pooling = "mean", normalize: bool = False) -> keras.Model:
    """Pools the states of an encoder into one vector for each text.

    Args:
        encoder: an encoder as `build_encoder` returns it, whose weights are shared, not copied.
        pooling: `mean` of the token states, or `cls`, the first token's state without BERT's pooler.
        normalize: whether vectors have length 1.

    Returns:
        A model from the encoder's inputs to all of its outputs and `embedding` (batch, hidden).

    Raises:
        ValueError: there is no such pooling.

    Examples:
        >>> build_embedder(task.encoder).output["embedding"].shape
        (None, 8)
    """
    import keras

    from keras_bert.layers.heads import FirstTokenPooler, MeanPooler
    from keras_bert.models.encoder import sequence_output
    from keras_bert.models.global_tokens import with_global_tokens

    check("build_embedder", "pooling", pooling in get_args(Pooling), f"be one of {get_args(Pooling)}", pooling)
    encoder = with_global_tokens(encoder, "none")
    states = sequence_output(encoder)
    if pooling == "mean":
        vector = MeanPooler(name="mean_pooler")(states, encoder.input["padding_mask"])
    else:
        vector = FirstTokenPooler(name="first_token_pooler")(states)
    if normalize:
        vector = keras.layers.UnitNormalization(name="normalization")(vector)
    return keras.Model(encoder.input, {**encoder.output, "embedding": vector}, name="embedding")


def cosine_similarity(first: Array, second: Array) -> Array:
    """Cosines of all pairs, float32: (n, hidden), (m, hidden) -> (n, m); 0 where a vector is all zero.

    Examples:
        >>> cosine_similarity(np.array([[2.0, 0.0]]), np.array([[3.0, 0.0], [0.0, 1.0]])).tolist()
        [[1.0, 0.0]]
    """
    unit = [v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12) for v in (first, second)]
    return np.asarray(unit[0] @ unit[1].T, "float32")


@dataclasses.dataclass(frozen=True)
class Match:
    """A result of `Embedding.search`.

    Attributes:
        text: the text.
        similarity: cosine to the query, -1 to 1.
        index: index of the text among the searched texts.

    Examples:
        >>> Match("a film", similarity=0.75, index=3)
        Match(text='a film', similarity=0.75, index=3)
    """

    text: str
    similarity: float
    index: int


class Embedding(Task):
    """One vector for each text.

    To train it, fit `similarity`, not `model`: from two texts to the cosine of their vectors (Reimers and
    Gurevych 2019, section 3, regression objective). Both share their weights.

    Args:
        model: a model as `build_embedder` returns it, or an exported file.
        tokenizer: the tokenizer with the model's vocabulary.
        max_length: the maximum number of tokens of a text, special tokens included.

    Raises:
        ValueError: see `Task`; or the model has no output `embedding`.

    Examples:
        >>> embedding = Embedding.build(task.encoder, task.tokenizer, max_length=16)
        >>> embedding.predict(["film", "film film"]).shape
        (2, 8)
        >>> [match.text for match in embedding.search(["film"], ["film", "film film"], top_k=1)[0]]
        ['film']
    """

    name = "embedding"
    needs_pooling = True
    second_text = "compared"
    output_name = "embedding"

    def __init__(self, model: keras.Model | Runtime, tokenizer: BaseTokenizer, *, max_length: int = 256) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        whole = isinstance(model.output, dict) and "embedding" in model.output
        check(type(self).__name__, "model", whole, "have an output `embedding`", model.name)

    def transformers_model(self) -> keras.Model:
        """The model with all outputs, see `Task`."""
        return self.model

    def transformers_outputs(self, outputs: Any) -> dict[str, Any]:
        """The states of all tokens, and the vectors."""
        return {HIDDEN_STATES: outputs["sequence_output"], SENTENCE_VECTOR: outputs["embedding"]}

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 256,
        pooling: Pooling = "mean",
        normalize: bool = False,
    ) -> Self:
        """Vectors of an encoder's states, see `build_embedder`."""
        model = build_embedder(encoder, pooling=pooling, normalize=normalize)
        return cls(model, tokenizer, max_length=max_length)

    def network(self) -> keras.Model:
        """From the encoder's inputs to the vectors (batch, hidden) alone."""
        import keras

        return keras.Model(self.model.input, self.model.output["embedding"], name="embedding")

    @functools.cached_property
    def similarity(self) -> keras.Model:
        """From `first_...` and `second_...` inputs to cosines (batch, 1)."""
        import keras

        inputs = {
            f"{side}_{spec.name}": keras.Input(spec.shape[1:], dtype=spec.dtype, name=f"{side}_{spec.name}")
            for side in ("first", "second")
            for spec in self.model.inputs
        }
        vectors = [
            self.model({spec.name: inputs[f"{side}_{spec.name}"] for spec in self.model.inputs})["embedding"]
            for side in ("first", "second")
        ]
        cosine = keras.layers.Dot(axes=1, normalize=True, name="cosine")(vectors)
        return keras.Model(inputs, cosine, name="similarity")

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Compiles `similarity`; `kwargs` go to Keras."""
        check_keras_model(self, "trained")
        self._compile(self.similarity, optimizer, **kwargs)

    def head(self) -> dict[str, Any]:
        """The pooling of the model, and whether its vectors have length 1."""
        from keras_bert.models.encoder import has_layer

        pooling = "cls" if has_layer(self.model, "first_token_pooler") else "mean"
        return {"pooling": pooling, "normalize": has_layer(self.model, "normalization")}

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """The cosines of the vectors (rows, hidden), 0 where they are negative."""
        return np.clip(np.diag(cosine_similarity(reference, candidate)), 0, 1)

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        """See `Task.objective`."""
        from keras_bert.objectives.embedding import EmbeddingObjective

        self._refuse_class_weights(class_weights)
        return EmbeddingObjective()

    def loss(self) -> keras.losses.Loss:
        """The mean squared error of the cosines."""
        import keras

        return keras.losses.MeanSquaredError()

    def examples(
        self, texts: Sequence[str], others: Sequence[str], similarities: Sequence[float]
    ) -> tuple[Features, Array]:
        """Arguments of `similarity.fit`: the inputs of both texts (rows, length) and their cosines (rows, 1) float32.

        Raises:
            TypeError: a text is no string.
            ValueError: a similarity is not in [-1, 1], or there are not as many others or similarities as texts.
        """
        check_same_length("texts", texts, "others", others)
        check_same_length("texts", texts, "similarities", similarities)
        cosines = as_numbers("similarities", similarities)
        for row in np.flatnonzero(~(np.abs(cosines) <= 1))[:1]:
            check("Embedding", f"similarities[{row}]", False, "be in [-1, 1]", similarities[row])
        sides = {"first": self.encode(texts), "second": self.encode(others)}
        inputs = {f"{side}_{name}": array for side, features in sides.items() for name, array in features.items()}
        return inputs, cosines

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> Array:
        """The vector of each text: (texts, hidden) float32."""
        vectors = self.outputs(texts, batch_size=batch_size, keep=lambda outputs: outputs["embedding"])
        return np.stack(list(vectors)).astype("float32")

    @property
    def predicts_records(self) -> bool:
        """False: a vector is the output of the model."""
        return False

    def target(self, choice: str, outputs: Any, row: WordPlaces) -> Target:
        """The cosine of the text's vector and that of another text, `choice`, which stays as it is."""
        from keras import ops

        rule = "be the text to compare with"
        if not isinstance(choice, str):
            raise TypeError(f"{type(self).__name__}.target must {rule}, got {choice!r}")
        other = self.predict([choice])[0]
        other = other / max(float(np.linalg.norm(other)), 1e-12)

        def cosine(outputs: Any) -> Any:
            vectors = ops.cast(outputs["embedding"], "float32")
            return ops.sum(ops.normalize(vectors, axis=-1) * other, axis=-1)

        return Target(f"cosine with {choice!r}", choice, cosine)

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """`vector`; of pairs `similarity`, the cosine of both vectors."""
        if paired:
            return {"similarity": float}
        return {"vector": Vector(int(self.model.output["embedding"].shape[-1]))}

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any]]:
        """The vector of each text (hidden,) float32; or the cosine of each pair."""
        vectors = self.predict(texts)
        return zip(vectors) if seconds is None else zip(self._cosines(vectors, seconds))

    def answer_fields(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[str, ...]]:
        """A line for each text: its vector as JSON, or with a second text the cosine of both and the text."""
        vectors = self.predict(texts)
        if seconds is None:
            for vector in vectors:
                yield (json.dumps([round(float(value), 6) for value in vector]),)
            return
        for fields, cosine in zip(self._text_fields(texts, seconds), self._cosines(vectors, seconds), strict=True):
            yield f"{cosine:.4f}", *fields

    def _cosines(self, vectors: Array, seconds: Sequence[str]) -> list[float]:
        """The cosine of each vector and that of the second text beside it."""
        check_same_length("texts", vectors, "seconds", seconds)
        return [float(cosine) for cosine in cosine_similarity(vectors, self.predict(seconds)).diagonal()]

    def search(
        self, queries: Sequence[str], texts: Sequence[str], *, top_k: int = 5, vectors: Array | None = None
    ) -> list[list[Match]]:
        """For each query the texts nearest to it by cosine, best first.

        Args:
            queries: the queries.
            texts: the texts to search.
            top_k: maximum number of results of a query.
            vectors: the result of `predict(texts)`, to search the same texts several times.

        Raises:
            ValueError: `top_k` is below 1, there are not as many vectors as texts, or theirs is another width.
        """
        check("Embedding", "top_k", top_k >= 1, "be at least 1", top_k)
        texts = as_texts("texts", texts)
        if vectors is None:
            vectors = self.predict(texts)
        check_same_length("texts", texts, "vectors", vectors)
        targets = self.predict(queries)
        width = targets.shape[1]
        check("Embedding", "vectors", vectors.shape[1:] == (width,), f"be {width} wide", vectors.shape)
        cosines = cosine_similarity(targets, vectors)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :top_k]
        return [
            [Match(texts[index], float(row[index]), int(index)) for index in indices]
            for row, indices in zip(cosines, best, strict=True)
        ]
