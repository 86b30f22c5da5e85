"""The space of a table of labels: the densities of labels, and what is estimated of rows."""

import dataclasses
import functools
from typing import Any, Literal, NamedTuple

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.digests import digest

Array = np.ndarray[Any, Any]
Source = Literal["rows", "examples", "name"]

# The least variance of labels' means, as a share of the variance within a label. No more directions than there are
# labels show a larger one, and a label that is added may differ in another direction. From 0.01 to 0.2 the accuracy
# varies by half a point (docs/log.md).
_LEAST_VARIANCE = 0.05
# Examples of the labels that are left out to find the bias, and the parts of the labels that are left out in turn.
BIAS_EXAMPLES, _FOLDS = 8, 4


class Label(NamedTuple):
    """What is known of a label.

    Attributes:
        sums: the sum of the projected vectors of its examples (width,) float32.
        weight: the number of examples; that of a name is the number of examples that it is worth.
        source: whether the first evidence was rows of the training, examples, or the name.
        added: number of examples that were added after the training.
        added_sums: the part of `sums` of these.
    """

    sums: Array
    weight: float
    source: Source
    added: int
    added_sums: Array


class Densities(NamedTuple):
    """Logarithms of normal densities as polynomials of coordinates.

    Attributes:
        factors: factors of the squares of coordinates, then of coordinates (labels, 2 width).
        constants: (labels,).
    """

    factors: Array
    constants: Array

    def score(self, coordinates: Array) -> Array:
        """Coordinates (rows, width) -> (rows, labels) float64."""
        # One product takes a third of the time of two.
        return np.concatenate([coordinates**2, coordinates], axis=1) @ self.factors.T + self.constants


@dataclasses.dataclass(frozen=True, eq=False)
class LabelSpace:
    """The vectors of an encoder in directions without correlation, in units of the variance within a label.

    Attributes:
        center: the mean of all labels (width,) float32.
        axes: from vectors to directions (width, width) float32.
        variances: the variance of labels' means in each direction (width,) float32.
        name_offset: the mean difference of a label's mean and the vector of its name (width,) float32.
        name_count: the number of examples that a name is worth.
        temperature: divides scores before a softmax.
        threshold: a text whose best score is below has none of the labels.
        added_bias: by how much the score of an added label must be above that of a trained label; for more than 8
            examples it falls with their number.
    """

    center: Array
    axes: Array
    variances: Array
    name_offset: Array
    name_count: float
    temperature: float = 1.0
    threshold: float = 0.0
    added_bias: float = 0.0

    @functools.cached_property
    def _wide_axes(self) -> Array:
        return self.axes.astype("float64")

    def project(self, vectors: Array) -> Array:
        """Vectors (rows, width) -> coordinates (rows, width) float64; raises ValueError if one is not finite."""
        check(
            "LabelSpace", "vectors", vectors.shape[-1] == len(self.center), f"be {len(self.center)} wide", vectors.shape
        )
        check("LabelSpace", "vectors", bool(np.isfinite(vectors).all()), "be finite numbers", "others")
        return (vectors.astype("float64") - self.center) @ self._wide_axes

    def score(self, coordinates: Array, sums: Array, counts: Array) -> Array:
        """The logarithm of how much likelier each text is with a label than with a label without examples.

        Coordinates (rows, width), sums (labels, width) and counts (labels,) -> (rows, labels) float64.
        """
        return self.densities(sums, counts).score(coordinates)

    def densities(self, sums: Array, counts: Array) -> "Densities":
        """What `score` needs of labels, whatever the texts."""
        prior = self.variances.astype("float64")
        shrinkage = prior / (counts[:, None] * prior + 1.0)
        precisions = 1.0 / (1.0 + shrinkage)
        means = shrinkage * sums
        constants = 0.5 * (np.log(precisions) + np.log1p(prior) - precisions * means**2).sum(axis=1)
        squares = 0.5 * (1.0 / (1.0 + prior) - precisions)
        return Densities(np.concatenate([squares, precisions * means], axis=1), constants)

    def digest(self) -> str:
        """An identifier of the directions: sums of another space cannot be added."""
        return digest(array.tobytes() for array in (self.center, self.axes, self.variances))


def differences(vectors: Array, numbers: Array) -> Array:
    """The rows of labels with several rows, less the means of their labels."""
    counts = np.bincount(numbers)
    sums = np.zeros((len(counts), vectors.shape[1]))
    np.add.at(sums, numbers, vectors)
    return (vectors - sums[numbers] / counts[numbers][:, None])[counts[numbers] > 1]


def fit_space(vectors: Array, numbers: Array) -> tuple[LabelSpace, Array]:
    """A space without what is learnt of names and scores, and the sums of each label's projected rows (labels, width).

    Vectors (rows, width) float64 and the number of each row's label.
    """
    from sklearn.covariance import ledoit_wolf

    counts = np.bincount(numbers)
    sums = np.zeros((len(counts), vectors.shape[1]))
    np.add.at(sums, numbers, vectors)
    means = sums / counts[:, None]
    center = means.mean(axis=0)
    within, _ = ledoit_wolf(differences(vectors, numbers), assume_centered=True)
    values, basis = np.linalg.eigh(within)
    whitening = basis / np.sqrt(values)
    centered = (means - center) @ whitening
    between = centered.T @ centered / (len(counts) - 1) - np.eye(len(centered.T)) * (1.0 / counts).mean()
    variances, rotation = np.linalg.eigh(between)
    axes = (whitening @ rotation).astype("float16").astype("float32")
    none = np.zeros(len(center), "float32")
    variances = np.maximum(variances, _LEAST_VARIANCE).astype("float32")
    space = LabelSpace(center.astype("float32"), axes, variances, none, 1.0)
    return space, space.project(means) * counts[:, None]


def find_bias(vectors: Array, numbers: Array, allowed_loss: float) -> float:
    """The bias with which labels that are added take at most this share of the rows from trained labels.

    A quarter of the labels is left out at a time: the space is that of the other labels, to which they are added with 8
    of their rows. A row counts as lost if it has its label before the addition, and an added label after it. The bias
    is the largest of the four, as labels differ (docs/log.md).
    """
    chance, bias = np.random.default_rng(0), 0.0
    labels = chance.permutation(int(numbers.max()) + 1)
    for part in (labels[fold::_FOLDS] for fold in range(min(_FOLDS, len(labels)))):
        is_old = ~np.isin(numbers, part)
        kept, old = np.unique(numbers[is_old], return_inverse=True)
        if len(kept) < 2 or not differences(vectors[is_old], old).any():
            continue
        space, sums = fit_space(vectors[is_old], old)
        places = space.project(vectors[is_old])
        scores = scores_without_itself(space, places, old, sums, np.bincount(old))
        chosen = [chance.permutation(np.flatnonzero(numbers == label))[:BIAS_EXAMPLES] for label in part]
        added = np.stack([space.project(vectors[rows]).sum(axis=0) for rows in chosen])
        margin = space.score(places, added, np.array([len(rows) for rows in chosen])).max(axis=1) - scores.max(axis=1)
        margin = np.where(scores.argmax(axis=1) == old, margin, -np.inf)
        bias = max(bias, float(np.quantile(margin, 1 - allowed_loss, method="higher")))
    return bias


def scores_without_itself(space: LabelSpace, places: Array, numbers: Array, sums: Array, counts: Array) -> Array:
    """The scores (rows, labels) of rows as if each were no example of its label."""
    scores = space.score(places, sums, counts)
    for row, (place, number) in enumerate(zip(places, numbers, strict=True)):
        rest = sums[number] - place, counts[number] - 1.0
        scores[row, number] = space.score(place[None], rest[0][None], np.array([rest[1]]))[0, 0]
    return scores
