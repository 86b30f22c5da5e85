"""Labels as data: a table of labels over the vectors of an encoder, to which labels are added without a training.

The model is a probabilistic linear discriminant analysis (Ioffe 2006): the vectors of a label's texts are normal around
the label's mean, and the means of labels are normal around their common mean. A label's mean is not known, but learnt
from its examples: many make it sharp, one leaves it wide, and of none it has the distribution of all labels. So labels
of thousands of rows and of one example are compared fairly, and a label without an example means "none of these".
"""

import base64
import dataclasses
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from keras_bert.core.checks import check
from keras_bert.metrics.calibration import find_temperature, probabilities
from plugins.open_labels.label_file import pack_export, pack_table, unpack_export, unpack_table
from plugins.open_labels.label_space import (
    BIAS_EXAMPLES,
    Array,
    Densities,
    Label,
    LabelSpace,
    differences,
    find_bias,
    fit_space,
    scores_without_itself,
)

# Of the scores of rows with their own label, this share is above the threshold of "none of these".
_ACCEPTED_SHARE = 0.95
# The share of rows of trained labels that may be lost to added labels, see `find_bias`.
ALLOWED_LOSS = 0.005
# Threads change tables in turn: each change starts from the labels that the last one left. A lock of each table could
# not be pickled.
_CHANGES = threading.RLock()


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


class _Scorer(NamedTuple):
    """What scores texts: labels, their densities, and the biases (labels,) of those that were added."""

    labels: Mapping[str, Label]
    densities: Densities
    biases: Array


class LabelTable:
    """Labels over a space, which can be added, renamed and removed; `undo` takes back the last change.

    Threads may change a table and answer with it at the same time.

    Args:
        space: the space.
        labels: the labels in their order.
    """

    def __init__(self, space: LabelSpace, labels: Mapping[str, Label]) -> None:
        self.space, self._labels = space, dict(labels)
        self._history: list[dict[str, Label]] = []
        self._kept_scorer: _Scorer | None = None

    @classmethod
    def fit(
        cls,
        vectors: Array,
        labels: Sequence[str],
        *,
        names: Sequence[str],
        name_vectors: Array,
        allowed_loss: float = ALLOWED_LOSS,
    ) -> Self:
        """The table of the labels of rows.

        The covariance within labels is shrunk (Ledoit and Wolf 2004). Temperature and threshold are chosen by the
        scores of the rows, each without itself.

        Args:
            vectors: the vectors of texts (rows, width).
            labels: the label of each row.
            names: the different labels, in the order of the table.
            name_vectors: the vectors of the labels' names (labels, width).
            allowed_loss: the share of rows that may lose their label when labels are added, 0 to 1. Labels that are
                left out in turn and added again find the bias with which it is so. 1 for no bias: added labels are
                then answered more often, and trained labels less often.

        Raises:
            ValueError: there are fewer than two labels, or no label has two rows.
        """
        check("LabelTable", "allowed_loss", 0 <= allowed_loss <= 1, "be from 0 to 1", allowed_loss)
        numbers = np.array([names.index(label) for label in labels])
        counts = np.bincount(numbers, minlength=len(names))
        check("LabelTable", "labels", len(names) >= 2, "be at least two", list(names))
        check("LabelTable", "rows", counts.max() >= 2, "be at least two of one label", int(counts.max()))
        check("LabelTable", "rows", counts.min() >= 1, "be at least one of each label", names[int(counts.argmin())])
        vectors = vectors.astype("float64")
        differs = bool(differences(vectors, numbers).any())
        check("LabelTable", "rows", differs, "differ within a label", "equal vectors")
        space, sums = fit_space(vectors, numbers)
        places, sides = sums / counts[:, None], space.project(name_vectors)
        offset = (places - sides).mean(axis=0)
        # What is left of the difference is noise, as that of a mean of so many examples.
        noise = ((places - sides - offset) ** 2).mean() * len(names) / (len(names) - 1)
        scores = scores_without_itself(space, space.project(vectors), numbers, sums, counts)
        space = dataclasses.replace(
            space,
            name_offset=offset.astype("float32"),
            name_count=1.0 / max(float(noise), 1e-3),
            temperature=find_temperature(scores, numbers) or 1.0,
            threshold=float(np.quantile(scores[np.arange(len(numbers)), numbers], 1 - _ACCEPTED_SHARE)),
            added_bias=find_bias(vectors, numbers, allowed_loss) if allowed_loss < 1 else 0.0,
        )
        none = np.zeros(len(space.center), "float32")
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
        """Vectors (rows, width) -> what labels are chosen by (rows, labels) float64.

        It is `LabelSpace.score` less `LabelSpace.added_bias` for labels that were added.
        """
        scorer = self._scorer()
        return scorer.densities.score(self.space.project(vectors)) - scorer.biases

    def answer(self, vectors: Array) -> list[LabelAnswer]:
        """Vectors (rows, width) -> the answer for each; a change from another thread is in all of them or in none."""
        scorer = self._scorer()
        names, scores = list(scorer.labels), scorer.densities.score(self.space.project(vectors))
        biased = scores - scorer.biases
        shares = probabilities(biased, self.space.temperature)
        answers = []
        for row, best in enumerate(biased.argmax(axis=1)):
            score = float(scores[row, best])
            label = names[best] if score >= self.space.threshold else None
            answers.append(LabelAnswer(label, float(shares[row, best]), score))
        return answers

    @property
    def densities(self) -> Densities:
        """What scores texts by each label, in the order of `labels`, without biases."""
        return self._scorer().densities

    def _scorer(self) -> _Scorer:
        """That of the labels of this moment, which is kept until they change."""
        scorer, labels = self._kept_scorer, self._labels
        if scorer is None or scorer.labels is not labels:
            check("LabelTable", "labels", bool(labels), "hold at least one label", 0)
            sums = np.stack([label.sums for label in labels.values()]).astype("float64")
            counts = np.array([label.weight for label in labels.values()])
            faded = self.space.added_bias * np.minimum(1.0, BIAS_EXAMPLES / counts)
            biases = np.where([label.source == "rows" for label in labels.values()], 0.0, faded)
            scorer = self._kept_scorer = _Scorer(labels, self.space.densities(sums, counts), biases)
        return scorer

    def add(self, label: str, vectors: Array, name_vector: Array | None = None) -> None:
        """Adds a label with the vectors of its examples (examples, width), which may be none beside `name_vector`.

        Raises:
            ValueError: the label exists or is empty, or there is neither an example nor a name.
        """
        check("LabelTable", "label", bool(label.strip()), "not be empty", label)
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
        rule = "be a new label; `add_examples` adds to one that exists"
        with _CHANGES:
            check("LabelTable", "label", label not in self._labels, rule, label)
            self._change({**self._labels, label: _add(start, examples.sum(axis=0), len(examples))})

    def add_examples(self, label: str, vectors: Array) -> None:
        """Adds the vectors of examples (examples, width) to a label."""
        check("LabelTable", "vectors", len(vectors) > 0, "hold at least one example", 0)
        examples = self.space.project(vectors)
        with _CHANGES:
            self._change({**self._labels, label: _add(self[label], examples.sum(axis=0), len(examples))})

    def rename(self, label: str, new_label: str) -> None:
        """Gives a label another name."""
        check("LabelTable", "new_label", bool(new_label.strip()), "not be empty", new_label)
        with _CHANGES:
            self._check_known(label)
            rule = f"be none of {list(self._labels)}"
            check("LabelTable", "new_label", new_label not in self._labels, rule, new_label)
            self._change({new_label if name == label else name: entry for name, entry in self._labels.items()})

    def remove(self, label: str) -> None:
        """Removes a label."""
        with _CHANGES:
            self._check_known(label)
            self._change({name: entry for name, entry in self._labels.items() if name != label})

    def undo(self) -> None:
        """Takes back the last change since the table was made or read.

        Raises:
            ValueError: there is none.
        """
        with _CHANGES:
            check("LabelTable", "undo", bool(self._history), "follow a change", "none")
            self._labels = self._history.pop()

    def export(self) -> bytes:
        """The counts and sums of the examples that were added; no text can be read from them."""
        return pack_export(self.space, self._labels)

    def merge(self, exported: bytes) -> None:
        """Adds what `export` of another table returned: one change, for new labels and for those that exist.

        Raises:
            ValueError: the other table has another space, or the bytes are damaged.
        """
        self._add_all(unpack_export(exported, self.space, "this table"), is_released=False)

    def add_sums(self, added: Mapping[str, tuple[float, Array]]) -> None:
        """Adds sums of projected vectors, and the number of examples that each is worth: one change.

        They are part of the table as the rows of its training are: `export` does not have them.
        """
        self._add_all(added, is_released=True)

    def release(self) -> None:
        """Makes all added examples part of the table, so that `export` begins anew.

        For a table into which exports were merged, before it goes to devices that export again: their examples would
        count twice otherwise.
        """
        none = np.zeros(len(self.space.center), "float32")
        with _CHANGES:
            self._change({name: label._replace(added=0, added_sums=none) for name, label in self._labels.items()})

    def as_bytes(self) -> bytes:
        """The table as bytes, see `plugins.open_labels.label_file`; `from_bytes` reads them."""
        return pack_table(self.space, self._labels)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The table of `as_bytes`; raises ValueError if it is damaged."""
        return cls(*unpack_table(content))

    def as_text(self) -> str:
        """`as_bytes` in base64, for the settings of a task."""
        return base64.b64encode(self.as_bytes()).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The table of `as_text`; raises ValueError if it is damaged."""
        try:
            return cls.from_bytes(base64.b64decode(text, validate=True))
        except (TypeError, ValueError) as error:
            raise ValueError(f"label_table must be that of a saved task, got {text!r:.60}: {error}") from None

    def _add_all(self, added: Mapping[str, tuple[float, Array]], *, is_released: bool) -> None:
        none = np.zeros(len(self.space.center), "float32")
        with _CHANGES:
            labels = dict(self._labels)
            for name, (count, sums) in added.items():
                label = labels.get(name, Label(none, 0.0, "examples", 0, none))
                grown = _add(label, sums, count)
                labels[name] = grown._replace(added=label.added, added_sums=label.added_sums) if is_released else grown
            self._change(labels)

    def _change(self, labels: dict[str, Label]) -> None:
        self._history.append(self._labels)
        self._labels = labels

    def _check_known(self, label: str) -> None:
        check("LabelTable", "label", label in self._labels, f"be one of {list(self._labels)}", label)


def _add(label: Label, sums: Array, count: float) -> Label:
    """A label with further examples, whose projected vectors have this sum."""
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
        total, added = (np.asarray(array + sums, "float32") for array in (label.sums, label.added_sums))
    # One that is not would be in the score of each text with this label, and no text would get another label.
    check("LabelTable", "vectors", bool(np.isfinite(total).all()), "be finite numbers", "others")
    return label._replace(sums=total, added_sums=added, weight=label.weight + count, added=int(label.added + count))


def name_text(label: str, description: str = "") -> str:
    """The text that stands for a label without examples: its name, with spaces for underscores, and its description."""
    return f"{label.replace('_', ' ')} {description}".strip()
