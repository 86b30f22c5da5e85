"""Sentence embedding: one vector for each text, near to those of like texts (Reimers and Gurevych 2019)."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, get_args

import keras
import numpy as np

from keras_bert.checks import check
from keras_bert.layers.heads import FirstTokenPooler, MeanPooler
from keras_bert.models.encoder import has_layer, sequence_output
from keras_bert.models.global_tokens import with_global_tokens
from keras_bert.objectives.base import TaskObjective
from keras_bert.objectives.embedding import EmbeddingObjective
from keras_bert.options.pooling import Pooling
from keras_bert.tasks.base import Array, Features, Runtime, Task
from keras_bert.tasks.checks import as_numbers, as_texts, check_same_length

if TYPE_CHECKING:
    from keras_bert.tokenizers.base import BaseTokenizer


def build_embedder(encoder: keras.Model, *, pooling: Pooling = "mean", normalize: bool = False) -> keras.Model:
    """Makes one vector of an encoder's states.

    Args:
        encoder: what `build_encoder` returns; its weights are shared, not copied.
        pooling: `mean` of the token states, or `cls`, the first token's state without BERT's pooler.
        normalize: whether vectors have length 1.

    Returns:
        A model from the encoder's inputs to all of its outputs and `embedding` (batch, hidden).

    Raises:
        ValueError: there is no such pooling.
    """
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
    """Cosines of all pairs, float32: (n, hidden), (m, hidden) -> (n, m); 0 where a vector is all zero."""
    unit = [v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12) for v in (first, second)]
    return np.asarray(unit[0] @ unit[1].T, "float32")


@dataclasses.dataclass(frozen=True)
class Match:
    """A text that was found.

    Attributes:
        text: what stands at `index` of the searched texts.
        similarity: cosine to the query, -1 to 1.
        index: its place among the searched texts.
    """

    text: str
    similarity: float
    index: int


class Embedding(Task):
    """One vector for each text.

    To train it, fit `similarity`, not `model`: from two texts to the cosine of their vectors (Reimers and
    Gurevych 2019, section 3, regression objective). Both share their weights.

    Args:
        model: what `build_embedder` returns.
        tokenizer: with the model's vocabulary.
        max_length: the most tokens of a text.
    """

    name = "embedding"
    pools = True
    output_name = "embedding"

    def __init__(self, model: keras.Model | Runtime, tokenizer: "BaseTokenizer", *, max_length: int = 256) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        whole = isinstance(model.output, dict) and "embedding" in model.output
        check(type(self).__name__, "model", whole, "have an output `embedding`", model.name)

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: "BaseTokenizer",
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
        return keras.Model(self.model.input, self.model.output["embedding"], name="embedding")

    @functools.cached_property
    def similarity(self) -> keras.Model:
        """From `first_...` and `second_...` inputs to cosines (batch, 1)."""
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
        self._compile(self.similarity, optimizer, **kwargs)

    def head(self) -> dict[str, Any]:
        """How the text becomes one vector, and whether that has length 1."""
        pooling = "cls" if has_layer(self.model, "first_token_pooler") else "mean"
        return {"pooling": pooling, "normalize": has_layer(self.model, "normalization")}

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """The cosines of the vectors (rows, hidden), 0 where they are negative."""
        return np.clip(np.diag(cosine_similarity(reference, candidate)), 0, 1)

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        """See `Task.objective`."""
        self._refuse_class_weights(class_weights)
        return EmbeddingObjective()

    def loss(self) -> keras.losses.Loss:
        """The mean squared error of the cosines."""
        return keras.losses.MeanSquaredError()

    def examples(
        self, texts: Sequence[str], others: Sequence[str], similarities: Sequence[float]
    ) -> tuple[Features, Array]:
        """What `similarity.fit` takes: inputs of both texts (rows, length) and their cosines (rows, 1) float32.

        Raises:
            TypeError: a text is no string.
            ValueError: a similarity is not in [-1, 1], or there are not as many others or similarities as texts.
        """
        check_same_length("texts", texts, "others", others)
        check_same_length("texts", texts, "similarities", similarities)
        wanted = as_numbers("similarities", similarities)
        for row in np.flatnonzero(~(np.abs(wanted) <= 1))[:1]:
            check("Embedding", f"similarities[{row}]", False, "be in [-1, 1]", similarities[row])
        sides = {"first": self.encode(texts), "second": self.encode(others)}
        inputs = {f"{side}_{name}": array for side, features in sides.items() for name, array in features.items()}
        return inputs, wanted

    def predict(self, texts: Sequence[str], *, batch_size: int = 32) -> Array:
        """The vector of each text: (texts, hidden) float32."""
        vectors = self.outputs(texts, batch_size=batch_size, keep=lambda outputs: outputs["embedding"])
        return np.stack(list(vectors)).astype("float32")

    def search(
        self, queries: Sequence[str], texts: Sequence[str], *, top_k: int = 5, vectors: Array | None = None
    ) -> list[list[Match]]:
        """For each query the texts nearest to it by cosine, best first.

        Args:
            queries: what to look for.
            texts: what to look through.
            top_k: the most texts a query.
            vectors: what `predict(texts)` returned, to search the same texts again and again.

        Raises:
            ValueError: `top_k` is below 1, there are not as many vectors as texts, or theirs is another width.
        """
        check("Embedding", "top_k", top_k >= 1, "be at least 1", top_k)
        texts = as_texts("texts", texts)
        if vectors is None:
            vectors = self.predict(texts)
        check_same_length("texts", texts, "vectors", vectors)
        wanted = self.predict(queries)
        check(
            "Embedding", "vectors", vectors.shape[1:] == wanted.shape[1:], f"be {wanted.shape[1]} wide", vectors.shape
        )
        cosines = cosine_similarity(wanted, vectors)
        best = np.argsort(-cosines, axis=1, kind="stable")[:, :top_k]
        return [
            [Match(texts[index], float(row[index]), int(index)) for index in found]
            for row, found in zip(cosines, best, strict=True)
        ]
