"""Sentence embedding: one vector for each text, near the vectors of similar texts (Reimers and Gurevych 2019)."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.digests import digest, digest_weights
from keras_bert.core.folders import HIDDEN_STATES, SENTENCE_VECTOR
from keras_bert.core.validation import read_json
from keras_bert.core.vector_codes import VectorCode, check_space, encode_vectors, read_vectors
from keras_bert.options.data import VECTOR_POOLINGS, Projection, Prompts, SimilarityFunction
from keras_bert.tasks.answer_columns import ColumnType, Vector
from keras_bert.tasks.base import Array, Features, Runtime, Task
from keras_bert.tasks.checks import as_columns, as_numbers, as_texts, check_keras_model, is_keras_model
from keras_bert.tasks.targets import RowWords, Target

if TYPE_CHECKING:
    import keras

    from keras_bert.objectives.base import TaskObjective
    from keras_bert.tokenizers.base import BaseTokenizer

PromptName = Literal["", "query", "passage"]


def build_embedder(
    encoder: keras.Model,
    *,
    pooling: str | None = None,
    normalize: bool | None = None,
    dimension: int | None = None,
    projections: Sequence[Projection | Mapping[str, Any]] | None = None,
) -> keras.Model:
    """Pools the states of an encoder into one vector for each text.

    Args:
        encoder: an encoder as `build_encoder` returns it, whose weights are shared, not copied.
        pooling: `mean` of the token states, `cls`, the first token's state without BERT's pooler, or another of
            `VECTOR_POOLINGS`, or several, as `mean+max`, whose vectors stand side by side; None for that of the
            embedding that the encoder was taken from, and for `mean` where there is none.
        normalize: whether vectors have length 1, so that inner products are cosines; None for as in the embedding that
            the encoder was taken from, and for True where there is none.
        dimension: the width of the vectors, which are the first numbers of the pooled states; None for all.
        projections: dense layers behind the pooling; None for the layers of the embedding that the encoder is from.
            Equal ones share their weights.

    Returns:
        A model from the encoder's inputs to all of its outputs and `embedding` (batch, dimension).

    Raises:
        ValueError: there is no such pooling, or the encoder is not wider than `dimension`.

    Examples:
        >>> build_embedder(task.encoder).output["embedding"].shape
        (None, 8)
    """
    import keras

    from keras_bert.layers.heads import FirstTokenPooler, MeanPooler, Projections, StatePooler, Truncation
    from keras_bert.models.encoder import pooling_of_origin, sequence_output
    from keras_bert.models.global_tokens import with_global_tokens

    as_origin, projecting = getattr(encoder, "normalize", None), getattr(encoder, "projections", None)
    pooling = pooling or (None if as_origin is None else pooling_of_origin(encoder)) or "mean"
    normalize = as_origin is not False if normalize is None else normalize
    names = pooling.split("+")
    is_valid = set(names) <= set(VECTOR_POOLINGS) and len(set(names)) == len(names)
    check("build_embedder", "pooling", is_valid, f"be one of {VECTOR_POOLINGS}, or several joined by '+'", pooling)
    encoder = with_global_tokens(encoder, "none")
    states = sequence_output(encoder)
    if pooling == "mean":
        vector = MeanPooler(name="mean_pooler")(states, encoder.input["padding_mask"])
    elif pooling == "cls":
        vector = FirstTokenPooler(name="first_token_pooler")(states)
    else:
        vector = StatePooler(pooling, name="state_pooler")(states, encoder.input["padding_mask"])
    if projections is not None:
        values = [
            dataclasses.asdict(item if isinstance(item, Projection) else read_json(Projection, item, "projections"))
            for item in projections
        ]
        if projecting is None or projecting.projections != values:
            projecting = Projections(values, name="projections") if values else None
    if projecting is not None:
        vector = projecting(vector)
    if dimension is not None:
        width = vector.shape[-1]
        check("build_embedder", "dimension", 1 <= dimension < width, f"be from 1 to {width - 1}", dimension)
        vector = Truncation(dimension, name="truncation")(vector)
    if normalize:
        vector = keras.layers.UnitNormalization(name="normalization", dtype="float32")(vector)
    return keras.Model(encoder.input, {**encoder.output, "embedding": vector}, name="embedding")


def cosine_similarity(first: Array, second: Array) -> Array:
    """Cosines of all pairs, float32: (n, hidden), (m, hidden) -> (n, m); 0 where a vector is all zero.

    Examples:
        >>> cosine_similarity(np.array([[2.0, 0.0]]), np.array([[3.0, 0.0], [0.0, 1.0]])).tolist()
        [[1.0, 0.0]]
    """
    unit = [v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-12) for v in (first, second)]
    return np.asarray(unit[0] @ unit[1].T, "float32")


def compare_vectors(first: Array, second: Array, function: SimilarityFunction = "cosine") -> Array:
    """Similarities of all pairs, float32: (n, hidden), (m, hidden) -> (n, m), larger for vectors that are more alike.

    Args:
        first: vectors.
        second: vectors.
        function: `cosine`, `dot` products, or the `euclidean` or `manhattan` distance with a minus sign, as in
            sentence-transformers.
    """
    from scipy.spatial.distance import cdist

    if function == "cosine":
        return cosine_similarity(first, second)
    if function == "dot":
        return np.asarray(first @ second.T, "float32")
    return np.asarray(-cdist(first, second, "cityblock" if function == "manhattan" else function), "float32")


@dataclasses.dataclass(frozen=True)
class Match:
    """A result of `Embedding.search`: a text, its similarity to the query, and its index among the searched texts.

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
        model: a model as `build_embedder` returns it, or an exported file; for tokenizer and max_length see `Task`.
        prompts: the texts that the model expects in front of queries and passages; None for none.
        normalize: whether the vectors have length 1; None for as in the model's graph. A file needs it.
        similarity_function: how `search` and answers to pairs compare vectors, see `compare_vectors`. Training compares
            them by `cosine`.
        space: the identifier that a file holds, see `space`.
        space_weights: the digest of the weights with which the model was trained into that space; empty for a space of
            its own.

    Raises:
        ValueError: see `Task`; the model has no output `embedding`, or `normalize` is not as in its graph; or there is
            no such similarity function.

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
    # Other libraries do not distinguish the vectors of a retrieval from other embeddings.
    library_task = "embedding"
    output_name = "embedding"
    label_name = "value"

    single_prompt: PromptName = "query"
    """The prompt of single texts in `answer_values`; an instance may have another one."""

    vector_code: VectorCode = "float32"
    """The code of the vectors of single texts in `answer_values`; an instance may have another one."""

    runs_queries: bool = True
    """Whether the model makes the vectors of queries; an instance may make them without it."""

    keeps_space: bool = False
    """Whether `answer_values` reads the weights for `space` once: an instance that is never trained may say so."""

    def __init__(
        self,
        model: keras.Model | Runtime,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 256,
        prompts: Mapping[str, str] | None = None,
        normalize: bool | None = None,
        similarity_function: SimilarityFunction = "cosine",
        space: str = "",
        space_weights: str = "",
    ) -> None:
        super().__init__(model, tokenizer, max_length=max_length)
        self.prompts = Prompts(**(prompts or {}))
        kind, functions = type(self).__name__, get_args(SimilarityFunction)
        check(
            kind, "similarity_function", similarity_function in functions, f"be one of {functions}", similarity_function
        )
        self.similarity_function = similarity_function
        whole = isinstance(model.output, dict) and "embedding" in model.output
        check(kind, "model", whole, "have an output `embedding`", model.name)
        in_graph = normalize
        if is_keras_model(model):
            from keras_bert.models.encoder import has_layer

            in_graph = has_layer(model, "normalization")
        check(kind, "normalize", normalize in (None, in_graph), f"be {in_graph}, as in the model's graph", normalize)
        self.normalize = bool(in_graph)
        self._space, self._space_weights = space, space_weights

    @property
    def space(self) -> str:
        """The identifier of the space of the vectors, 16 hexadecimal digits: those of one space can be compared.

        A student of a teacher's vectors has that of its teacher, and a pruned or quantized model that of the model that
        it imitates, until its weights change (docs/decisions/0054-the-identifier-of-a-space.md). All other models have
        one of their own: a digest of weights, pooling and normalization. Each access reads all weights.
        """
        if not is_keras_model(self.model):
            return self._space
        weights = self._digest_vectors()
        return self._space if self._space_weights == weights else weights

    @space.setter
    def space(self, space: str) -> None:
        self._space, self._space_weights = space, self._digest_vectors()

    @functools.cached_property
    def _kept_space(self) -> str:
        return self.space

    def _digest_vectors(self) -> str:
        """The digest of what makes the vectors. Truncated ones are prefixes, and prompts a part of the text."""
        with self._answering():
            weights = digest_weights(self.network())
        head = {**self.head(), "dimension": None, "normalize": self.normalize}
        return digest([json.dumps(head, sort_keys=True).encode(), weights.encode()])

    def declared_space(self) -> dict[str, str]:
        """The space that the model was trained into and the digest of its weights then, as arguments of `build`."""
        return {"space": self._space, "space_weights": self._space_weights} if self._space_weights else {}

    def learned_settings(self) -> dict[str, Any]:
        """See `Task.learned_settings`; also `space`."""
        inherited = {"space_weights": self._digest_vectors()} if self._space_weights else {}
        return {**super().learned_settings(), "space": self.space, **inherited}

    def transformers_model(self) -> keras.Model:
        """The model with all outputs, see `Task`."""
        return self.model

    def transformers_outputs(self, outputs: Any) -> dict[str, Any]:
        """The states of all tokens, and the vectors.

        Readers make a vector by pooling the states. Where a pooled state is not the vector, see `pools_to_vector`, each
        token has the vector as its state, so that every pooling gives it.
        """
        import keras

        states, vector = outputs["sequence_output"], outputs["embedding"]
        if not self.pools_to_vector:
            shape = (*keras.ops.shape(states)[:2], vector.shape[-1])
            states = keras.ops.broadcast_to(vector[:, None], shape)
        return {HIDDEN_STATES: states, SENTENCE_VECTOR: vector}

    @property
    def pools_to_vector(self) -> bool:
        """Whether the vector is a pooled state, apart from its length: neither projected, truncated nor joined."""
        return not {"projections", "dimension"} & self.head().keys() and "+" not in self.head()["pooling"]

    @classmethod
    def build(
        cls,
        encoder: keras.Model,
        tokenizer: BaseTokenizer,
        *,
        max_length: int = 256,
        pooling: str | None = None,
        normalize: bool | None = None,
        dimension: int | None = None,
        projections: Sequence[Projection | Mapping[str, Any]] | None = None,
        **settings: Any,
    ) -> Self:
        """Vectors of an encoder's states, see `build_embedder`; `settings` are those of the constructor."""
        model = build_embedder(
            encoder, pooling=pooling, normalize=normalize, dimension=dimension, projections=projections
        )
        return cls(model, tokenizer, max_length=max_length, **settings)

    def truncated(self, dimension: int) -> Self:
        """The same task with vectors of only the first numbers, on the same encoder with the same adapter.

        Raises:
            ValueError: the vectors are not wider.
        """
        width = int(self.model.output["embedding"].shape[-1])
        check(type(self).__name__, "dimension", 1 <= dimension < width, f"be from 1 to {width - 1}", dimension)
        task = type(self).build(self.encoder, self.tokenizer, **self._settings_of(dimension))
        for name in ("adapter", "quantization", "single_prompt", "vector_code"):
            setattr(task, name, getattr(self, name))
        return task

    def projected(self, matrix: Array) -> Self:
        """The same task on the same encoder with vectors times a matrix (width, new width), a further dense layer."""
        head, units = self.head(), matrix.shape[1]
        layers = [*head.get("projections", ()), {"units": units, "activation": "none", "use_bias": False}]
        head = {**head, "projections": layers, "dimension": None}
        task = type(self).build(self.encoder, self.tokenizer, **{**self._settings_of(units), **head})
        for name in ("adapter", "single_prompt", "vector_code"):
            setattr(task, name, getattr(self, name))
        *kept, last = task.model.get_layer("projections").dense
        for ours, theirs in zip(kept, self.model.get_layer("projections").dense if kept else (), strict=True):
            ours.set_weights(theirs.get_weights())
        # Numbers that a truncation dropped have no part in the product.
        last.kernel.assign(np.pad(matrix, ((0, last.kernel.shape[0] - len(matrix)), (0, 0))))
        return task

    def _settings_of(self, dimension: int) -> dict[str, Any]:
        """The arguments of `build` for vectors of this width."""
        return {**self.settings(), **self.head(), **self.declared_space(), "dimension": dimension}

    def settings(self) -> dict[str, Any]:
        """`max_length`, how vectors are compared, and the prompts that are set."""
        prompts = {name: prompt for name, prompt in dataclasses.asdict(self.prompts).items() if prompt}
        vectors = {"normalize": self.normalize, "similarity_function": self.similarity_function}
        return {**super().settings(), **vectors, **({"prompts": prompts} if prompts else {})}

    def network(self) -> keras.Model:
        """From the encoder's inputs to only the vectors (batch, hidden)."""
        import keras

        return keras.Model(self.model.input, self.model.output["embedding"], name="embedding")

    @functools.cached_property
    def similarity(self) -> keras.Model:
        """From `first_...` and `second_...` inputs to cosines (batch, 1)."""
        import keras

        model = self._two_texts()
        cosine = keras.layers.Dot(axes=1, normalize=True, name="cosine")(model.output)
        return keras.Model(model.input, cosine, name="similarity")

    def _two_texts(self) -> keras.Model:
        """From `first_...` and `second_...` inputs to both vectors."""
        import keras

        # The model has further outputs; a pooler behind one of them would have no gradient.
        network, sides = self.network(), ("first", "second")
        inputs = {
            f"{side}_{spec.name}": keras.Input(spec.shape[1:], dtype=spec.dtype, name=f"{side}_{spec.name}")
            for side in sides
            for spec in network.inputs
        }
        vectors = [network({spec.name: inputs[f"{side}_{spec.name}"] for spec in network.inputs}) for side in sides]
        return keras.Model(inputs, vectors, name="two_texts")

    def compile(self, optimizer: keras.optimizers.Optimizer, **kwargs: Any) -> None:
        """Compiles `similarity`; `kwargs` go to Keras."""
        check_keras_model(self, "trained")
        self._check_trained_function()
        self._compile(self.similarity, optimizer, **kwargs)

    def head(self) -> dict[str, Any]:
        """The pooling of the model, its `projections`, and `dimension` where its vectors are truncated."""
        layers = {layer.name: layer for layer in self.model.layers}
        pooling = "cls" if "first_token_pooler" in layers else "mean"
        if "state_pooler" in layers:
            pooling = layers["state_pooler"].pooling
        dense = [dict(values) for values in layers["projections"].projections] if "projections" in layers else []
        cut = {"dimension": layers["truncation"].width} if "truncation" in layers else {}
        return {"pooling": pooling, **({"projections": dense} if dense else {}), **cut}

    def _check_trained_function(self) -> None:
        rule = "be 'cosine' where the model is trained, as its losses are of cosines; build the task again on `encoder`"
        is_cosine = self.similarity_function == "cosine"
        check(type(self).__name__, "similarity_function", is_cosine, rule, self.similarity_function)

    def agreement(self, reference: Any, candidate: Any, padding_mask: Array) -> Array:
        """The cosines of the vectors (rows, hidden), 0 where they are negative."""
        return np.clip(np.diag(cosine_similarity(reference, candidate)), 0, 1)

    def objective(self, class_weights: Sequence[float] | None = None) -> TaskObjective:
        from keras_bert.objectives.tasks import EmbeddingObjective

        self._refuse_class_weights(class_weights)
        self._check_trained_function()
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
            ValueError: a similarity is not in [-1, 1].
        """
        texts, others, similarities = as_columns(texts=texts, others=others, similarities=similarities)
        cosines = as_numbers("similarities", similarities)
        for row in np.flatnonzero(~(np.abs(cosines) <= 1))[:1]:
            check("Embedding", f"similarities[{row}]", False, "be in [-1, 1]", similarities[row])
        return self._encode_sides(texts, others), cosines

    def _encode_sides(self, texts: Sequence[str], others: Sequence[str]) -> Features:
        """The inputs of queries (`first_...`) and passages (`second_...`), with the prompts that answers have, too."""
        sides = {"first": self._prompted("query", texts), "second": self._prompted("passage", others, "others")}
        features = {side: self.encode(prompted) for side, prompted in sides.items()}
        return {f"{side}_{name}": array for side, inputs in features.items() for name, array in inputs.items()}

    def _prompted(self, prompt: PromptName, texts: Sequence[str], name: str = "texts") -> list[str]:
        """Texts with one of the prompts in front of them; the empty name is for none."""
        start: str = getattr(self.prompts, prompt) if prompt else ""
        return [start + text for text in as_texts(name, texts)]

    def training_rows(self, *data: Any, **pairs: Any) -> dict[str, Array]:
        """See `Task.training_rows`; the inputs of second texts are `second_...`, and `value` is (rows,)."""
        features, cosines = self.examples(*data, **pairs)
        width = max(array.shape[1] for array in features.values())
        rows = {
            name.removeprefix("first_"): np.pad(array, ((0, 0), (0, width - array.shape[1])))
            for name, array in features.items()
        }
        return {**rows, "value": cosines[:, 0]}

    def predict(self, texts: Sequence[str], *, batch_size: int = 32, prompt: PromptName = "") -> Array:
        """The vector of each text: (texts, hidden) float32.

        Args:
            texts: the texts.
            batch_size: see `Task.forward`.
            prompt: which of `prompts` stands in front of each text; empty for none.
        """
        vectors = self.outputs(
            self._prompted(prompt, texts), batch_size=batch_size, keep=lambda outputs: outputs["embedding"]
        )
        return np.stack(list(vectors)).astype("float32")

    @property
    def predicts_records(self) -> bool:
        """False: a vector is the output of the model."""
        return False

    def explained_texts(self, texts: Sequence[str]) -> list[str]:
        """The text with the prompt of queries in front of it, as a pair's first text is read."""
        return [self.prompts.query + text for text in texts]

    def target(self, choice: str, outputs: Any, row: RowWords) -> Target:
        """The similarity of the text's vector and the fixed vector of a passage, `choice`."""
        from keras import ops

        if not isinstance(choice, str):
            raise TypeError(f"{type(self).__name__}.target must be the text to compare with, got {choice!r}")
        function, other = self.similarity_function, self.predict([choice], prompt="passage")[0]
        if function == "cosine":
            other = other / max(float(np.linalg.norm(other)), 1e-12)

        def similarity(outputs: Any) -> Any:
            vectors = ops.cast(outputs["embedding"], "float32")
            if function in ("euclidean", "manhattan"):
                return -ops.norm(vectors - other, ord=2 if function == "euclidean" else 1, axis=-1)
            return ops.sum((ops.normalize(vectors, axis=-1) if function == "cosine" else vectors) * other, axis=-1)

        return Target(f"{function} with {choice!r}", choice, similarity)

    def answer_columns(self, *, paired: bool = False) -> dict[str, ColumnType]:
        """`vector` in `vector_code`, and its `space`; of pairs `similarity`, by `similarity_function`."""
        if paired:
            return {"similarity": float}
        self._check_code(self.vector_code)
        width = int(self.model.output["embedding"].shape[-1])
        code = self.vector_code
        return {
            "vector": Vector(-(-width // 8), "uint8") if code == "binary" else Vector(width, code),
            "vector_space": str,
        }

    def answer_values(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Iterator[tuple[Any, ...]]:
        """The vector of each text (hidden,) in `vector_code`, and `space`; of pairs the similarity.

        A single text gets the prompt `single_prompt`, queries and passages get theirs.
        """
        if seconds is None:
            self._check_code(self.vector_code)
            vectors = encode_vectors(self.predict(texts, prompt=self.single_prompt), self.vector_code)
            return zip(vectors, itertools.repeat(self._kept_space if self.keeps_space else self.space))
        texts, seconds = as_columns(texts=texts, seconds=seconds)
        return zip(self.compare_pairs(self.predict(texts, prompt="query"), self.predict(seconds, prompt="passage")))

    def format_answer(self, values: tuple[Any, ...], texts: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The vector of a single text as JSON; of a pair the similarity, and both texts."""
        if len(texts) == 1:
            return [(json.dumps([round(float(value), 6) for value in values[0]]),)]
        return [(f"{values[0]:.4f}", *texts)]

    def _check_code(self, code: VectorCode) -> None:
        fits = code == "float32" or self.normalize or self.similarity_function == "cosine"
        rule = f"be 'float32', as int8 and binary vectors lose their length, which {self.similarity_function} compares"
        check(type(self).__name__, "vector_code", fits, rule, code)

    def compare(self, first: Array, second: Array) -> Array:
        """`compare_vectors` by the task's `similarity_function`: (n, hidden), (m, hidden) -> float32 (n, m)."""
        return compare_vectors(first, second, self.similarity_function)

    def compare_pairs(self, first: Iterable[Array], second: Iterable[Array]) -> list[float]:
        """The similarity of each vector and the one beside it: (n, hidden), (n, hidden)."""
        return [float(self.compare(one[None], other[None])[0, 0]) for one, other in zip(first, second, strict=True)]

    def search(
        self, queries: Sequence[str], texts: Sequence[str], *, top_k: int = 5, vectors: Any = None
    ) -> list[list[Match]]:
        """For each query the texts most alike by `similarity_function`, best first; `prompts` stand in front of both.

        Args:
            queries: the queries.
            texts: the texts to search.
            top_k: maximum number of results of a query.
            vectors: the result of `predict(texts, prompt="passage")`, to search the same texts several times, or its
                `keras_bert.core.vector_codes.int8_codes`; or a table of `predict --out`, of pandas, PyArrow or another
                library, with the columns `vector` and `vector_space`.

        Raises:
            ValueError: `top_k` is below 1, there are not as many vectors as texts, theirs is another width, they are
                int8 while the task compares lengths, or the table is of another space.
        """
        check("Embedding", "top_k", top_k >= 1, "be at least 1", top_k)
        texts = as_texts("texts", texts)
        if vectors is None:
            vectors = self.predict(texts, prompt="passage")
        vectors, spaces = read_vectors(vectors)
        if spaces:
            check_space("Embedding", self.space, spaces)
        as_columns(texts=texts, vectors=vectors)
        targets = self.predict(queries, prompt="query")
        width = targets.shape[1]
        check("Embedding", "vectors", vectors.shape[1:] == (width,), f"be {width} wide", vectors.shape)
        if vectors.dtype == np.int8:
            self._check_code("int8")
            # Each was scaled by itself: only its direction counts.
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        similarities = self.compare(targets, vectors)
        best = np.argsort(-similarities, axis=1, kind="stable")[:, :top_k]
        return [
            [Match(texts[index], float(row[index]), int(index)) for index in indices]
            for row, indices in zip(similarities, best, strict=True)
        ]
