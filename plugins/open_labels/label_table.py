"""Labels as data: a table of labels over the vectors of an encoder, to which labels are added without a training.

The model is a probabilistic linear discriminant analysis (Ioffe 2006): the vectors of a label's texts are normal around
the label's mean, and the means of labels are normal around their common mean. A label's mean is not known, but learnt
from its examples: many make it sharp, one leaves it wide, and of none it has the distribution of all labels. So labels
of thousands of rows and of one example are compared fairly, and a label without an example means "none of these".
"""

import base64
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.digests import digest
from keras_bert.metrics.calibration import find_temperature, probabilities

Array = np.ndarray[Any, Any]
Source = Literal["rows", "examples", "name"]

# The least variance of labels' means, as a share of the variance within a label. No more directions than there are
# labels show a larger one, and a label that is added may differ in another direction. From 0.01 to 0.2 the accuracy
# varies by half a point (docs/log.md).
_LEAST_VARIANCE = 0.05
# Of the scores of rows with their own label, this share is above the threshold of "none of these".
_ACCEPTED_SHARE = 0.95


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


@dataclasses.dataclass(frozen=True)
class LabelAnswer:
    """The answer for a text.

    Attributes:
        label: the most probable label, or None if the text has none of the labels.
        probability: the probability of the most probable label among the labels, 0 to 1.
        score: the logarithm of how much likelier the text is with this label than with an unknown one.
    """

    label: str | None
    probability: float
    score: float


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
    """

    center: Array
    axes: Array
    variances: Array
    name_offset: Array
    name_count: float
    temperature: float = 1.0
    threshold: float = 0.0

    def project(self, vectors: Array) -> Array:
        """Vectors (rows, width) -> coordinates (rows, width) float64."""
        check(
            "LabelSpace", "vectors", vectors.shape[-1] == len(self.center), f"be {len(self.center)} wide", vectors.shape
        )
        return (vectors.astype("float64") - self.center) @ self.axes.astype("float64")

    def score(self, coordinates: Array, sums: Array, counts: Array) -> Array:
        """The logarithm of how much likelier each text is with a label than with a label without examples.

        Coordinates (rows, width), sums (labels, width) and counts (labels,) -> (rows, labels) float64.
        """
        prior = self.variances.astype("float64")
        shrinkage = prior / (counts[:, None] * prior + 1.0)
        precisions = 1.0 / (1.0 + shrinkage)
        means = shrinkage * sums
        constants = 0.5 * (np.log(precisions) + np.log1p(prior) - precisions * means**2).sum(axis=1)
        squares = coordinates**2
        weights = 0.5 * (1.0 / (1.0 + prior) - precisions)
        return squares @ weights.T + coordinates @ (precisions * means).T + constants

    def digest(self) -> str:
        """An identifier of the directions: sums of another space cannot be added."""
        return digest(array.tobytes() for array in (self.center, self.axes, self.variances))


class LabelTable:
    """Labels over a space, which can be added, renamed and removed; `undo` takes back the last change.

    Args:
        space: the space.
        labels: the labels in their order.
    """

    def __init__(self, space: LabelSpace, labels: Mapping[str, Label]) -> None:
        self.space, self._labels = space, dict(labels)
        self._history: list[dict[str, Label]] = []

    @classmethod
    def fit(cls, vectors: Array, labels: Sequence[str], *, names: Sequence[str], name_vectors: Array) -> Self:
        """The table of the labels of rows.

        The covariance within labels is shrunk (Ledoit and Wolf 2004). Temperature and threshold are chosen by the
        scores of the rows, each without itself.

        Args:
            vectors: the vectors of texts (rows, width).
            labels: the label of each row.
            names: the different labels, in the order of the table.
            name_vectors: the vectors of the labels' names (labels, width).

        Raises:
            ValueError: there are fewer than two labels, or no label has two rows.
        """
        from sklearn.covariance import ledoit_wolf

        numbers = np.array([names.index(label) for label in labels])
        counts = np.bincount(numbers, minlength=len(names))
        check("LabelTable", "labels", len(names) >= 2, "be at least two", list(names))
        check("LabelTable", "rows", counts.max() >= 2, "be at least two of one label", int(counts.max()))
        check("LabelTable", "rows", counts.min() >= 1, "be at least one of each label", names[int(counts.argmin())])
        vectors = vectors.astype("float64")
        sums = np.zeros((len(names), vectors.shape[1]))
        np.add.at(sums, numbers, vectors)
        means = sums / counts[:, None]
        center = means.mean(axis=0)
        differences = (vectors - means[numbers])[counts[numbers] > 1]
        check("LabelTable", "rows", bool(differences.any()), "differ within a label", "equal vectors")
        within, _ = ledoit_wolf(differences, assume_centered=True)
        values, basis = np.linalg.eigh(within)
        whitening = basis / np.sqrt(values)
        centered = (means - center) @ whitening
        between = centered.T @ centered / (len(names) - 1) - np.eye(len(centered.T)) * (1.0 / counts).mean()
        variances, rotation = np.linalg.eigh(between)
        axes = (whitening @ rotation).astype("float16").astype("float32")
        width, variances = len(center), np.maximum(variances, _LEAST_VARIANCE)
        none = np.zeros(width, "float32")
        space = LabelSpace(center.astype("float32"), axes, variances.astype("float32"), none, 1.0)
        places, sides = space.project(means), space.project(name_vectors)
        offset = (places - sides).mean(axis=0)
        # What is left of the difference is noise, as that of a mean of so many examples.
        noise = ((places - sides - offset) ** 2).mean() * len(names) / (len(names) - 1)
        sums = places * counts[:, None]
        scores = _scores_without_itself(space, space.project(vectors), numbers, sums, counts)
        space = dataclasses.replace(
            space,
            name_offset=offset.astype("float32"),
            name_count=1.0 / max(float(noise), 1e-3),
            temperature=find_temperature(scores, numbers) or 1.0,
            threshold=float(np.quantile(scores[np.arange(len(numbers)), numbers], 1 - _ACCEPTED_SHARE)),
        )
        counted = zip(names, sums.astype("float32"), counts.tolist(), strict=True)
        return cls(space, {name: Label(total, float(count), "rows", 0, none) for name, total, count in counted})

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in their order."""
        return tuple(self._labels)

    def copy(self) -> Self:
        """A table with the same labels, whose changes leave this one as it is; it has no change to undo."""
        return type(self)(self.space, self._labels)

    def __getitem__(self, label: str) -> Label:
        """What is known of a label."""
        self._check_known(label)
        return self._labels[label]

    def scores(self, vectors: Array) -> Array:
        """Vectors (rows, width) -> scores (rows, labels) float64, see `LabelSpace.score`."""
        return self._score(self._labels, vectors)

    def answer(self, vectors: Array) -> list[LabelAnswer]:
        """Vectors (rows, width) -> the answer for each; a change from another thread is in all of them or in none."""
        labels = self._labels
        scores, names = self._score(labels, vectors), list(labels)
        shares = probabilities(scores, self.space.temperature)
        answers = []
        for row, best in enumerate(scores.argmax(axis=1)):
            score = float(scores[row, best])
            label = names[best] if score >= self.space.threshold else None
            answers.append(LabelAnswer(label, float(shares[row, best]), score))
        return answers

    def _score(self, labels: Mapping[str, Label], vectors: Array) -> Array:
        check("LabelTable", "labels", bool(labels), "hold at least one label", 0)
        sums = np.stack([label.sums for label in labels.values()]).astype("float64")
        counts = np.array([label.weight for label in labels.values()])
        return self.space.score(self.space.project(vectors), sums, counts)

    def add(self, label: str, vectors: Array, name_vector: Array | None = None) -> None:
        """Adds a label with the vectors of its examples (examples, width), which may be none beside `name_vector`.

        Raises:
            ValueError: the label exists or is empty, or there is neither an example nor a name.
        """
        check("LabelTable", "label", bool(label.strip()), "not be empty", label)
        rule = "be a new label; `add_examples` adds to one that exists"
        check("LabelTable", "label", label not in self._labels, rule, label)
        width = len(self.space.center)
        none = np.zeros(width, "float32")
        if name_vector is None:
            check("LabelTable", "vectors", len(vectors) > 0, "hold at least one example", 0)
            start = Label(none, 0.0, "examples", 0, none)
        else:
            place = self.space.project(name_vector[None])[0] + self.space.name_offset
            worth = self.space.name_count
            start = Label((worth * place).astype("float32"), worth, "name", 0, none)
        examples = self.space.project(vectors) if len(vectors) else np.zeros((0, width))
        self._change({**self._labels, label: _add(start, examples.sum(axis=0), len(examples))})

    def add_examples(self, label: str, vectors: Array) -> None:
        """Adds the vectors of examples (examples, width) to a label."""
        check("LabelTable", "vectors", len(vectors) > 0, "hold at least one example", 0)
        examples = self.space.project(vectors)
        self._change({**self._labels, label: _add(self[label], examples.sum(axis=0), len(examples))})

    def rename(self, label: str, new_label: str) -> None:
        """Gives a label another name."""
        self._check_known(label)
        check("LabelTable", "new_label", bool(new_label.strip()), "not be empty", new_label)
        check("LabelTable", "new_label", new_label not in self._labels, f"be none of {list(self._labels)}", new_label)
        self._change({new_label if name == label else name: entry for name, entry in self._labels.items()})

    def remove(self, label: str) -> None:
        """Removes a label."""
        self._check_known(label)
        self._change({name: entry for name, entry in self._labels.items() if name != label})

    def undo(self) -> None:
        """Takes back the last change since the table was made or read.

        Raises:
            ValueError: there is none.
        """
        check("LabelTable", "undo", bool(self._history), "follow a change", "none")
        self._labels = self._history.pop()

    def export(self) -> dict[str, Any]:
        """The counts and sums of the examples that were added, as JSON values; no text can be read from them."""
        added = {
            name: {"count": label.added, "sums": _encode(label.added_sums)}
            for name, label in self._labels.items()
            if label.added
        }
        return {"space": self.space.digest(), "labels": added}

    def merge(self, exported: Mapping[str, Any]) -> None:
        """Adds what `export` of another table returned: one change, for new labels and for those that exist.

        Raises:
            ValueError: the other table has another space.
        """
        ours, theirs = self.space.digest(), exported.get("space")
        rule = f"be {ours}, the space of this table: sums of another encoder cannot be added"
        check("LabelTable", "space", theirs == ours, rule, theirs)
        labels, none = dict(self._labels), np.zeros(len(self.space.center), "float32")
        for name, added in exported["labels"].items():
            label = labels.get(name, Label(none, 0.0, "examples", 0, none))
            labels[name] = _add(label, _decode(added["sums"]), int(added["count"]))
        self._change(labels)

    def as_json(self) -> dict[str, Any]:
        """The table as JSON values; `from_json` reads them."""
        space = {
            name: _encode(value, "float16" if name == "axes" else "float32") if isinstance(value, np.ndarray) else value
            for name, value in vars(self.space).items()
        }
        # A list, as the keys of objects have no order in files.
        labels = [
            {**label._asdict(), "label": name, "sums": _encode(label.sums), "added_sums": _encode(label.added_sums)}
            for name, label in self._labels.items()
        ]
        return {"space": space, "labels": labels}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The table of `as_json`; raises ValueError if it is damaged."""
        try:
            space, labels = dict(content["space"]), content["labels"]
            width = len(_decode(space["center"]))
            arrays = {
                name: _decode(value, "float16" if name == "axes" else "float32")
                for name, value in space.items()
                if isinstance(value, str)
            }
            arrays["axes"] = arrays["axes"].reshape(width, width)
            read = {
                label["label"]: Label(
                    _decode(label["sums"]),
                    label["weight"],
                    label["source"],
                    label["added"],
                    _decode(label["added_sums"]),
                )
                for label in labels
            }
            return cls(LabelSpace(**{**space, **arrays}), read)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"label_table must be that of a saved task, got {json.dumps(content)[:60]}: {error}"
            ) from None

    def _change(self, labels: dict[str, Label]) -> None:
        self._history.append(self._labels)
        self._labels = labels

    def _check_known(self, label: str) -> None:
        check("LabelTable", "label", label in self._labels, f"be one of {list(self._labels)}", label)


def _add(label: Label, sums: Array, count: int) -> Label:
    """A label with further examples, whose projected vectors have this sum."""
    total, added = (np.asarray(array + sums, "float32") for array in (label.sums, label.added_sums))
    return label._replace(sums=total, added_sums=added, weight=label.weight + count, added=label.added + count)


def _scores_without_itself(space: LabelSpace, places: Array, numbers: Array, sums: Array, counts: Array) -> Array:
    """The scores (rows, labels) of rows as if each were no example of its label."""
    scores = space.score(places, sums, counts)
    for row, (place, number) in enumerate(zip(places, numbers, strict=True)):
        rest = sums[number] - place, counts[number] - 1.0
        scores[row, number] = space.score(place[None], rest[0][None], np.array([rest[1]]))[0, 0]
    return scores


def _encode(array: Array, kind: str = "float32") -> str:
    return base64.b64encode(array.astype(f"<{np.dtype(kind).str[1:]}").tobytes()).decode()


def _decode(text: str, kind: str = "float32") -> Array:
    return np.frombuffer(base64.b64decode(text, validate=True), np.dtype(kind).newbyteorder("<")).astype("float32")
