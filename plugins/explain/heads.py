"""What attention heads look at: statistics of each head over texts (Clark et al. 2019)."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from keras_bert.tasks.base import Task
from plugins.explain.attention import attentions
from plugins.explain.tokens import Array

# The largest number of float64 entries of a temporary array, of which there are a few at a time.
_MOST_ENTRIES = 2**22

# A head that gives more than half of its attention to, for example, the previous token is of the kind `previous token`;
# Clark et al. 2019, section 3.1, use the same share.
_MAIN_SHARE = 0.5
# The largest entropy of a `narrow` head: that of two tokens with equal shares.
_NARROW_ENTROPY = math.log(2)
# The least entropy of a `broad` head, as a share of the largest possible one, which all tokens with equal shares have.
_BROAD_PART = 0.9

# The name of each share in `HeadStatistics` -> the kind of a head with that main share.
_KINDS = {
    "to_previous": "previous token",
    "to_next": "next token",
    "to_itself": "itself",
    "to_separators": "separator",
    "to_first": "first token",
}


@dataclasses.dataclass(frozen=True)
class HeadStatistics:
    """Statistics of the attention heads of a model over texts.

    Every token of a row is a query, including special tokens and the learned vectors of a prompt. The queries of all
    texts have equal weight. The first token of a row has the share 0 for its previous token, and the last one for its
    next token. The statistics are those of Clark et al. 2019, section 3.

    Attributes:
        entropy: the entropy of the shares that a query gives, in nats, mean over queries: float64 (layers, heads).
        to_first: the share that `[CLS]` gets, mean over queries (layers, heads).
        to_separators: the share that the `[SEP]`s of the row get, added up, mean over queries (layers, heads).
        to_itself: the share that a query gives to itself, mean over queries (layers, heads).
        to_previous: the share that a query gives to the token before it, mean over queries (layers, heads).
        to_next: the share that a query gives to the token after it, mean over queries (layers, heads).
        first_entropy: the entropy of the shares that `[CLS]` gives, in nats, mean over texts (layers, heads).
        uniform_entropy: the entropy of equal shares, the logarithm of the length of the row, mean over queries.
        kind: the kind of each head, strings (layers, heads): `previous token`, `next token`, `itself`, `separator` or
            `first token` if the largest of these shares is above 0.5; else `narrow` if the entropy is at most log 2,
            `broad` if it is at least 0.9 of `uniform_entropy`, else `mixed`.
        distances: the Jensen-Shannon distances of heads, with base 2 from 0 to 1, mean over queries (layers x heads,
            layers x heads), the heads of the first layer first; None without `distances=True`. Clark et al. 2019,
            section 6, sum the squared distances instead.
        positions: the heads as points in the plane whose distances are close to `distances` (layers x heads, 2), by
            classical scaling; None without distances.

    Examples:
        >>> from plugins.explain import head_statistics
        >>> statistics = head_statistics(task, ["film film", "film"])
        >>> statistics.kind.tolist()  # weights that were not trained
        [['broad', 'broad']]
        >>> np.round(statistics.to_first, 1).tolist()  # rows of 4 and of 3 tokens
        [[0.3, 0.3]]
    """

    entropy: Array
    to_first: Array
    to_separators: Array
    to_itself: Array
    to_previous: Array
    to_next: Array
    first_entropy: Array
    uniform_entropy: float
    kind: Array
    distances: Array | None
    positions: Array | None


def head_statistics(
    task: Task, texts: Sequence[str], pairs: Sequence[str] | None = None, *, distances: bool = True
) -> HeadStatistics:
    """Statistics of the attention heads of a task's model over texts: what each head looks at, and which are alike.

    One text is in memory at a time.

    Args:
        task: a task with a Keras model of any family.
        texts: texts, or the first of each pair.
        pairs: the second text of each pair; None for single texts.
        distances: whether heads are compared with each other; the time grows with the square of the number of heads.

    Raises:
        ValueError: the task's model is an exported file.

    Examples:
        >>> statistics = head_statistics(task, ["film film film"])
        >>> statistics.entropy.shape, statistics.distances.shape, statistics.positions.shape
        ((1, 2), (2, 2), (2, 2))
    """
    totals: dict[str, Array] = {}
    count, queries, uniform, between = 0, 0, 0.0, np.zeros(())
    separator = task.tokenizer.vocabulary[task.tokenizer.sep_id]
    for attention in attentions(task, texts, pairs):
        # A text may hold the names of special tokens, as plain text.
        separators = (attention.row.words == -1) & (np.array(attention.tokens, object) == separator)
        sums = attention_sums(attention.weights, attention.row.cls_index, separators)
        totals = {name: totals.get(name, 0) + array for name, array in sums.items()}
        length = len(attention.tokens)
        count, queries, uniform = count + 1, queries + length, uniform + length * math.log(length)
        if distances:
            between = between + distance_sums(attention.weights)
        del attention  # or it would stay in memory while the next one is computed
    means = {name: array / (count if name == "first_entropy" else queries) for name, array in totals.items()}
    head_distances = between / queries if distances else None
    return HeadStatistics(
        **means,
        uniform_entropy=uniform / queries,
        kind=head_kinds(means, uniform / queries),
        distances=head_distances,
        positions=None if head_distances is None else plane_positions(head_distances),
    )


def attention_sums(weights: Array, cls_index: int, separators: Array) -> dict[str, Array]:
    """The sums over the queries of one text, by the names of `HeadStatistics`; `first_entropy` is of one query.

    Weights are (layers, heads, tokens, tokens), queries before keys; `cls_index` is the position of `[CLS]`. The sums
    are float64 (layers, heads).
    """
    # Layer by layer, as the copies with 8 bytes a number are large.
    layers = [_layer_sums(np.asarray(layer, "float64"), cls_index, separators) for layer in weights]
    return {name: np.stack([sums[name] for sums in layers]) for name in layers[0]}


def _layer_sums(weights: Array, cls_index: int, separators: Array) -> dict[str, Array]:
    """The sums of one layer (heads, tokens, tokens), each (heads,)."""
    from scipy.special import entr

    entropy = np.stack([entr(head).sum(axis=-1) for head in weights])
    diagonals = {
        name: np.trace(weights, offset, axis1=-2, axis2=-1)
        for name, offset in (("to_itself", 0), ("to_previous", -1), ("to_next", 1))
    }
    return {
        "entropy": entropy.sum(axis=-1),
        "to_first": weights[..., cls_index].sum(axis=-1),
        "to_separators": weights[..., separators].sum(axis=(-2, -1)),
        **diagonals,
        "first_entropy": entropy[..., cls_index],
    }


def head_kinds(means: dict[str, Array], uniform_entropy: float) -> Array:
    """The kind of each head by its mean shares and entropy, see `HeadStatistics.kind`."""
    shares = np.stack([means[name] for name in _KINDS])
    entropy = means["entropy"]
    by_entropy = np.where(entropy >= _BROAD_PART * uniform_entropy, "broad", "mixed")
    by_entropy = np.where(entropy <= _NARROW_ENTROPY, "narrow", by_entropy)
    by_share = np.array(list(_KINDS.values()))[shares.argmax(axis=0)]
    return np.where(shares.max(axis=0) > _MAIN_SHARE, by_share, by_entropy)


def distance_sums(weights: Array) -> Array:
    """The Jensen-Shannon distances between heads, with base 2, added up over the queries of one text.

    The distance is the square root of the divergence: the entropy of the mean of two distributions less the mean of
    their entropies, in bits. Weights (heads, queries, keys) or (layers, heads, queries, keys) give a symmetric float64
    (layers x heads, layers x heads).
    """
    from scipy.special import entr

    *layers_and_heads, queries, keys = weights.shape
    heads = math.prod(layers_and_heads)
    sums = np.zeros((heads, heads))
    rows = max(_MOST_ENTRIES // (heads * keys), 1)
    for start in range(0, queries, rows):
        shares = np.asarray(weights[..., start : start + rows, :], "float64").reshape(heads, -1, keys)
        entropy = entr(shares).sum(axis=-1)
        for head in range(heads - 1):
            others = slice(head + 1, None)
            mixed = entr((shares[head] + shares[others]) / 2).sum(axis=-1)
            divergence = mixed - (entropy[head] + entropy[others]) / 2
            # Rounding may be below 0.
            sums[head, others] += np.sqrt(np.maximum(divergence, 0) / math.log(2)).sum(axis=-1)
    return sums + sums.T


def plane_positions(distances: Array) -> Array:
    """Points (points, 2) in the plane with distances close to given ones, by classical scaling (Torgerson 1952).

    The points are the first two principal coordinates, with mean 0. The sign of each axis is fixed, so that the same
    distances give the same picture: the point farthest from 0 along an axis, or the first of several, is positive.
    """
    count = len(distances)
    centering = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centering @ np.square(distances) @ centering)
    # The square root would turn an eigenvalue that is only rounding noise into a visible second coordinate.
    values = np.where(values > 1e-12 * max(values[-1], 0), values, 0.0)
    positions = np.zeros((count, 2))
    axes = min(count, 2)
    positions[:, :axes] = (vectors * np.sqrt(values))[:, ::-1][:, :axes]
    for axis in positions.T:
        farthest = np.abs(axis).max()
        # The tolerance keeps rounding from choosing between two points that are equally far.
        if axis[np.argmax(np.abs(axis) >= farthest * (1 - 1e-6))] < 0:
            axis *= -1
    return positions
