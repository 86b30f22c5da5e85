"""The attention probabilities of a model for texts, in every family as full matrices."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert.core.checks import check
from keras_bert.families.longformer.layers import GLOBAL_TOKENS
from keras_bert.layers.adapters import PromptPlaces
from keras_bert.layers.tap import recording
from keras_bert.models.encoder import blocks_of, calls_of, encoder_of, has_layer, output_of, sequence_output
from keras_bert.tasks.base import Features, Task, pad_batch
from keras_bert.tasks.checks import as_texts, check_same_length, is_keras_model
from plugins.explain.explained import read_row
from plugins.explain.tokens import Array, Tokens


@dataclasses.dataclass(frozen=True)
class Attention:
    """The attention of one text or pair.

    Attributes:
        weights: the share of each key in the context of each query, without padding: float32
            (layers, heads, queries, keys). The keys of a query sum to 1.

    Examples:
        >>> from plugins.explain.tokens import Tokens
        >>> row = Tokens.of(task.tokenizer, ["film"], max_length=16)
        >>> Attention(row, np.full((1, 2, 3, 3), 1 / 3, "float32")).tokens
        ('[CLS]', 'film', '[SEP]')
    """

    row: Tokens
    weights: Array

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, special ones included."""
        return self.row.tokens

    def by_word(self) -> Array:
        """Attention between words (layers, heads, words, words), special tokens left out.

        Attention to a word is the sum over its tokens, attention from a word the mean over its tokens (Clark et al.
        2019, section 4.1). The words of a query sum to the share that special tokens do not get.

        Examples:
            >>> from plugins.explain import attentions
            >>> attention = next(attentions(task, ["film film"]))
            >>> attention.weights.shape, attention.by_word().shape
            ((1, 2, 4, 4), (1, 2, 2, 2))
        """
        member = self.row.words[None, :] == np.arange(self.row.words.max(initial=-1) + 1)[:, None]
        member = member.astype("float32")  # (words, tokens)
        averaged = member / member.sum(axis=1, keepdims=True)
        return averaged @ self.weights @ member.T


def attentions(task: Task, texts: Sequence[str], pairs: Sequence[str] | None = None) -> Iterator[Attention]:
    """Yields the attention of a task's model for each text, one text at a time.

    The probabilities are those behind the softmax, of the model as `predict` runs it, with its adapter. Longformer and
    BigBird compute parts of the matrix; these stand at their places, and 0 everywhere else.

    Args:
        task: a task with a Keras model of any family.
        texts: texts, or the first of each pair.
        pairs: the second text of each pair; None for single texts.

    Raises:
        ValueError: the task's model is an exported file.

    Examples:
        >>> from plugins.explain import attentions
        >>> (attention,) = attentions(task, ["film"])
        >>> attention.tokens
        ('[CLS]', 'film', '[SEP]')
        >>> np.round(attention.weights.sum(axis=-1), 5).tolist()  # 1 layer, 2 heads, 3 queries
        [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    """
    rule = "be a Keras model; the attention inside a file cannot be read"
    check("attentions", "task.model", is_keras_model(task.model), rule, type(task.model).__name__)
    columns = [as_texts("texts", texts), *([] if pairs is None else [as_texts("pairs", pairs)])]
    check_same_length("texts", columns[0], "pairs", columns[-1])
    return attend(task, (read_row(task, task.explained_texts(row))[:2] for row in zip(*columns, strict=True)))


def attend(task: Task, rows: Iterable[tuple[Tokens, Features]]) -> Iterator[Attention]:
    """Yields the attention of rows that are encoded already, their tokens and inputs (1, length); see `attentions`."""
    encoder = EncoderAttention(task.model)
    for tokens, features in rows:
        # No name for the result: it would stay in memory while the next one is computed.
        yield _attend_row(task, encoder, tokens, features)


def _attend_row(task: Task, encoder: "EncoderAttention", tokens: Tokens, features: Features) -> Attention:
    # Padded as `predict` does: the blocks of a BigBird depend on the length.
    batch = pad_batch(features, np.array([0]), len(tokens.tokens), task.positions)
    with task._answering():
        weights = encoder.weights(batch)[:, 0]
    row = tokens.behind_prompt(weights.shape[-1] - batch["token_ids"].shape[1])
    return Attention(row, weights[..., : len(row.tokens), : len(row.tokens)])


class EncoderAttention:
    """Reads the attention of the encoder inside a model, whose heads may have further inputs."""

    def __init__(self, model: keras.Model) -> None:
        encoder = encoder_of(model)
        outputs = {"states": sequence_output(encoder)}
        if has_layer(encoder, GLOBAL_TOKENS):
            outputs["global_tokens"] = output_of(encoder, GLOBAL_TOKENS)
        self._model = keras.Model(encoder.input, outputs)
        self._places: Any = next(layer for layer in encoder.layers if isinstance(layer, PromptPlaces))
        blocks: list[Any] = blocks_of(encoder)
        self._calls = [(block.attention, len(calls_of(encoder, block))) for block in blocks]

    def weights(self, inputs: Mapping[str, Any]) -> Array:
        """The attention probabilities, float32 (layers, batch, heads, length, length), of inputs (batch, length).

        A prompt makes the length greater than that of the inputs.
        """
        with recording(attention.probabilities_tap for attention, _ in self._calls) as recorded:
            results = self._model({name: inputs[name] for name in self._model.input}, training=False)
        length = inputs["token_ids"].shape[1] + self._places.tokens
        marks = ops.convert_to_numpy(results["global_tokens"]) if "global_tokens" in results else None
        layers, heads = sum(calls for _, calls in self._calls), self._calls[0][0].num_heads
        # One array, and recorded parts go as they are copied: the matrices of long texts are large.
        weights = np.empty((layers, len(inputs["token_ids"]), heads, length, length), "float32")
        rows = iter(weights)
        for attention, calls in self._calls:
            parts = recorded[attention.probabilities_tap]
            size = len(parts) // calls
            for _ in range(calls):
                arrays = [ops.convert_to_numpy(ops.cast(parts.pop(0), "float32")) for _ in range(size)]
                next(rows)[...] = attention.full_probabilities(arrays, length, marks)
        return weights


def rollout(weights: Array) -> Array:
    """The share of each input token in each final state, if attention and residual count alike.

    The product over the layers of 0.5 A + 0.5 I, where A is the mean over the heads (Abnar and Zuidema 2020, section 3,
    "attention rollout"). Feed-forward layers and values are left out: a rough picture.

    Args:
        weights: attention probabilities (layers, heads, tokens, tokens).

    Returns:
        (layers, tokens, tokens): behind each layer, the shares (keys, which sum to 1) of each token's state (query).

    Raises:
        ValueError: the weights have another shape.

    Examples:
        >>> weights = np.array([[[[1.0, 0.0], [1.0, 0.0]]]])  # one head; both tokens look at the first
        >>> rollout(weights).tolist()
        [[[1.0, 0.0], [0.5, 0.5]]]
    """
    if weights.ndim != 4 or weights.shape[-1] != weights.shape[-2]:
        raise ValueError(f"rollout.weights must be (layers, heads, tokens, tokens), got shape {weights.shape}")
    product, products = np.eye(weights.shape[-1]), []
    for layer in weights.mean(axis=1, dtype="float64"):
        product = (0.5 * layer + 0.5 * np.eye(len(layer))) @ product
        products.append(product)
    return np.stack(products)
