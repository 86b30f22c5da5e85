"""The loss over a vocabulary with one pass over the scores for each purpose, where TensorFlow makes a dozen."""

from typing import Any

import tensorflow as tf

from keras_bert.layers.noise import gumbels

# Pieces of the vocabulary that are worked off at a time: what belongs to them then stays in reach.
CHUNK = 8192


def masked_token_loss(states: Any, table: Any, bias: Any, labels: Any, chunk: int = CHUNK) -> tuple[Any, Any]:
    """Cross-entropy of softmax(states table^T + bias), and whether the right score is the largest.

    The bias, the softmax and the loss are computed in float32, whatever the states' precision is. The gradient of a
    score is the softmax minus 1 where it is the right one's.

    Args:
        states: (rows, hidden), in the precision of the products.
        table: float32 (vocabulary, hidden).
        bias: float32 (vocabulary,).
        labels: int32 (rows,).
        chunk: pieces of the vocabulary at a time.

    Returns:
        The loss in nats and 1 or 0, of equal scores the first counting as the largest; both float32 (rows,).
    """
    vocabulary = table.shape[0]
    tf.debugging.assert_less(labels, vocabulary, "mask_ids must be below the vocabulary's size")
    bounds = _bounds(vocabulary, chunk)

    # Scores stand with the vocabulary down and the rows across: XLA's sums over the first axis are the fast ones.
    @tf.custom_gradient
    def head(states: Any, table: Any, bias: Any) -> tuple[Any, Any]:
        tables = [tf.cast(table[start:end], states.dtype) for start, end in bounds]
        biases = [bias[start:end] for start, end in bounds]
        places = [labels - start for start, _ in bounds]
        scores = [tf.matmul(part, states, transpose_b=True) for part in tables]
        chunks = list(zip(scores, biases, places, strict=True))
        normalizers = tf.reduce_logsumexp(tf.stack([_normalizer(*part) for part in chunks]), axis=0)
        right = tf.add_n([_chosen(*part) for part in chunks])
        beaten = tf.reduce_max(tf.stack([_beaten(*part, right) for part in chunks]), axis=0)

        def gradient(upstream: Any, _: Any) -> tuple[Any, Any, Any]:
            gradients = [_gradient(upstream, *part, normalizers) for part in chunks]
            one = tf.ones((tf.shape(states)[0], 1), states.dtype)
            to_states = [tf.matmul(part, rows, transpose_a=True) for part, rows in zip(gradients, tables, strict=True)]
            to_table = tf.concat([tf.matmul(part, states) for part in gradients], axis=0)
            to_bias = tf.concat([tf.matmul(part, one)[:, 0] for part in gradients], axis=0)
            return tf.add_n(to_states), tf.cast(to_table, tf.float32), tf.cast(to_bias, tf.float32)

        return (normalizers - right, 1.0 - beaten), gradient

    return head(states, table, bias)


def draw_tokens(states: Any, table: Any, bias: Any, first: Any, second: Any, chunk: int = CHUNK) -> Any:
    """For each row a piece drawn from softmax(states table^T + bias); no gradient goes through.

    The scores are worked out once more than in `masked_token_loss`: next to the noise they cost little.

    Args:
        states: (rows, hidden), in the precision of the products.
        table: float32 (vocabulary, hidden).
        bias: float32 (vocabulary,).
        first: uint32 (rows,), see `row_seeds`.
        second: uint32 (rows,).
        chunk: pieces of the vocabulary at a time.

    Returns:
        Ids, int32 (rows,).
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
    highest, places = (tf.stack(parts) for parts in zip(*candidates, strict=True))
    # Of equal ones the first, as within a chunk.
    return tf.reduce_min(tf.where(highest == tf.reduce_max(highest, axis=0), places, table.shape[0]), axis=0)


def _bounds(vocabulary: int, chunk: int) -> list[tuple[int, int]]:
    return [(start, min(start + chunk, vocabulary)) for start in range(0, vocabulary, chunk)]


def _compiled(function: Any) -> Any:
    return tf.function(function, jit_compile=True, autograph=False, reduce_retracing=True)


def _biased(scores: Any, bias: Any) -> Any:
    return tf.cast(scores, tf.float32) + bias[:, None]


def _numbers(scores: Any) -> Any:
    return tf.range(tf.shape(scores)[0])[:, None]


@_compiled
def _normalizer(scores: Any, bias: Any, places: Any) -> Any:
    """Log sum exp over a chunk (chunk, rows) -> (rows,)."""
    return tf.reduce_logsumexp(_biased(scores, bias), axis=0)


def _chosen(scores: Any, bias: Any, places: Any) -> Any:
    """The right scores of a chunk, 0 for the rows whose right score is in another: (rows,)."""
    size = tf.shape(scores)[0]
    here = tf.clip_by_value(places, 0, size - 1)
    products = tf.gather_nd(scores, tf.stack([here, tf.range(tf.shape(scores)[1])], axis=1))
    return tf.where((places >= 0) & (places < size), tf.cast(products, tf.float32) + tf.gather(bias, here), 0.0)


@_compiled
def _beaten(scores: Any, bias: Any, places: Any, right: Any) -> Any:
    """1 where a score is larger than the right one, or as large and before it, else 0."""
    biased = _biased(scores, bias)
    beaten = tf.where(_numbers(scores) < places, biased >= right, biased > right)
    return tf.reduce_max(tf.cast(beaten, tf.float32), axis=0)


@_compiled
def _noisiest(scores: Any, bias: Any, start: Any, first: Any, second: Any) -> tuple[Any, Any]:
    """The highest score of a chunk with its noise, and the piece that has it; both (rows,)."""
    pieces = _numbers(scores) + start
    noisy = _biased(scores, bias) + gumbels(tf.cast(pieces, tf.uint32), first, second)
    highest = tf.reduce_max(noisy, axis=0)
    return highest, tf.reduce_min(tf.where(noisy == highest, pieces, pieces.dtype.max), axis=0)


@_compiled
def _gradient(upstream: Any, scores: Any, bias: Any, places: Any, normalizers: Any) -> Any:
    """Of the scores."""
    shares = tf.exp(_biased(scores, bias) - normalizers)
    right = tf.cast(_numbers(scores) == places, tf.float32)
    return tf.cast(upstream * (shares - right), scores.dtype)
