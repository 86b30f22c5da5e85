"""The loss over a vocabulary in few passes over the scores, where TensorFlow makes a dozen."""

from typing import Any

import tensorflow as tf

from keras_bert.layers.noise import gumbel_noise

# The number of tokens of a chunk of the vocabulary: its scores stay in the processor's cache.
CHUNK = 8192


def masked_token_loss(states: Any, table: Any, bias: Any, labels: Any, chunk: int = CHUNK) -> tuple[Any, Any]:
    """Cross-entropy of softmax(states table^T + bias), and whether the label's score is the largest.

    The bias, the softmax and the loss are computed in float32, whatever the precision of the states. The gradient of a
    score is its probability, minus 1 for the label's score.

    States (rows, hidden) in the precision of the products, table float32 (vocabulary, hidden), bias float32
    (vocabulary,) and labels int32 (rows,) -> the loss in nats, and 1 where the label's score is the largest, else 0; of
    equal scores the first one is the largest. Both float32 (rows,). `chunk` is a number of tokens of the vocabulary.
    """
    vocabulary = table.shape[0]
    tf.debugging.assert_less(labels, vocabulary, "mask_ids must be below the vocabulary's size")
    bounds = _bounds(vocabulary, chunk)

    # Scores have the shape (vocabulary, rows): XLA sums faster over the first axis.
    @tf.custom_gradient
    def head(states: Any, table: Any, bias: Any) -> tuple[Any, Any]:
        tables = [tf.cast(table[start:end], states.dtype) for start, end in bounds]
        biases = [bias[start:end] for start, end in bounds]
        label_rows = [labels - start for start, _ in bounds]
        scores = [tf.matmul(part, states, transpose_b=True) for part in tables]
        chunks = list(zip(scores, biases, label_rows, strict=True))
        normalizers = tf.reduce_logsumexp(tf.stack([_normalizer(*part) for part in chunks]), axis=0)
        label_scores = tf.add_n([_label_scores(*part) for part in chunks])
        exceeded = tf.reduce_any(tf.stack([_is_exceeded(*part, label_scores) for part in chunks]), axis=0)

        def gradient(upstream: Any, _: Any) -> tuple[Any, Any, Any]:
            gradients = [_gradient(upstream, *part, normalizers) for part in chunks]
            one = tf.ones((tf.shape(states)[0], 1), states.dtype)
            to_states = [tf.matmul(part, rows, transpose_a=True) for part, rows in zip(gradients, tables, strict=True)]
            to_table = tf.concat([tf.matmul(part, states) for part in gradients], axis=0)
            to_bias = tf.concat([tf.matmul(part, one)[:, 0] for part in gradients], axis=0)
            return tf.add_n(to_states), tf.cast(to_table, tf.float32), tf.cast(to_bias, tf.float32)

        return (normalizers - label_scores, tf.cast(~exceeded, tf.float32)), gradient

    return head(states, table, bias)


def draw_tokens(states: Any, table: Any, bias: Any, first: Any, second: Any, chunk: int = CHUNK) -> Any:
    """Draws a token from softmax(states table^T + bias) for each row, int32 (rows,); no gradient passes.

    The scores are computed again after `masked_token_loss`: compared with the noise they cost little. The seeds `first`
    and `second` are those of `row_seeds`, uint32 (rows,).
    """
    candidates = [
        _noisiest(
            tf.matmul(tf.cast(table[start:end], states.dtype), states, transpose_b=True),
            bias[start:end],
            tf.constant(start),
            first,
            second,
        )
        for start, end in _bounds(table.shape[0], chunk)
    ]
    highest, token_ids = (tf.stack(parts) for parts in zip(*candidates, strict=True))
    # The first of equal scores, as within a chunk.
    return tf.reduce_min(tf.where(highest == tf.reduce_max(highest, axis=0), token_ids, table.shape[0]), axis=0)


def _bounds(vocabulary: int, chunk: int) -> list[tuple[int, int]]:
    return [(start, min(start + chunk, vocabulary)) for start in range(0, vocabulary, chunk)]


def _compiled(function: Any) -> Any:
    return tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)


def _biased(scores: Any, bias: Any) -> Any:
    return tf.cast(scores, tf.float32) + bias[:, None]


def _row_indices(scores: Any) -> Any:
    return tf.range(tf.shape(scores)[0])[:, None]


@_compiled
def _normalizer(scores: Any, bias: Any, label_rows: Any) -> Any:
    """Computes log sum exp over a chunk: (chunk, rows) -> (rows,)."""
    return tf.reduce_logsumexp(_biased(scores, bias), axis=0)


def _label_scores(scores: Any, bias: Any, label_rows: Any) -> Any:
    """The scores of the labels (rows,), 0 for a label in another chunk.

    `label_rows` are the indices of the labels in the chunk.
    """
    size = tf.shape(scores)[0]
    here = tf.clip_by_value(label_rows, 0, size - 1)
    products = tf.gather_nd(scores, tf.stack([here, tf.range(tf.shape(scores)[1])], axis=1))
    return tf.where((label_rows >= 0) & (label_rows < size), tf.cast(products, tf.float32) + tf.gather(bias, here), 0.0)


@_compiled
def _is_exceeded(scores: Any, bias: Any, label_rows: Any, label_scores: Any) -> Any:
    """Whether a score is larger than the label's, or equal and before it in the vocabulary: bool (rows,)."""
    biased, is_before = _biased(scores, bias), _row_indices(scores) < label_rows
    return tf.reduce_any((biased > label_scores) | (is_before & (biased == label_scores)), axis=0)


@_compiled
def _noisiest(scores: Any, bias: Any, start: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """Returns the highest score of a chunk after Gumbel noise is added, and its token id; both (rows,)."""
    token_ids = _row_indices(scores) + start
    noisy = _biased(scores, bias) + gumbel_noise(tf.cast(token_ids, tf.uint32), first, second)
    highest = tf.reduce_max(noisy, axis=0)
    return highest, tf.reduce_min(tf.where(noisy == highest, token_ids, token_ids.dtype.max), axis=0)


@_compiled
def _gradient(upstream: Any, scores: Any, bias: Any, label_rows: Any, normalizers: Any) -> Any:
    shares = tf.exp(_biased(scores, bias) - normalizers)
    is_label = tf.cast(_row_indices(scores) == label_rows, tf.float32)
    return tf.cast(upstream * (shares - is_label), scores.dtype)
