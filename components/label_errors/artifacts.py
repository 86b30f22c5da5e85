"""The search for wrong labels: folds of training rows, probabilities of held-out rows, and the rows to look at."""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.dsl.artifact import Artifact, RecordArtifact

if TYPE_CHECKING:
    from components.dsl.arrays import Array


PROBABILITIES_FILE = "probabilities.npz"
# The names of the table, for rows whose columns are texts and for others.
LABEL_TABLES = ("label_errors.csv", "label_errors.jsonl")


class Folds(RecordArtifact[list[int]]):
    """`folds.json`: the fold of each training row, [0, 3, 1, ...]."""

    record_file = "folds.json"


class LabelDecisions(NamedTuple):
    """Decisions about labels of training rows, each by a model that did not learn from the row.

    Attributes:
        rows: the row of each decision, from 0 (decisions,), ascending.
        places: the place in its row: 0, or the number of the word or of the label (decisions,).
        given: the number of the class that the row has there (decisions,).
        probabilities: those of the classes, see `TaskScoring.classes` (decisions, classes).
    """

    rows: "Array"
    places: "Array"
    given: "Array"
    probabilities: "Array"


class HeldOutProbabilities(Artifact):
    """`probabilities.npz`: the arrays of `LabelDecisions`."""

    def write(self, decisions: LabelDecisions) -> None:
        """Writes the decisions; the same ones give the same bytes."""
        import numpy as np

        np.savez(self.file(PROBABILITIES_FILE), **decisions._asdict())

    def read(self) -> LabelDecisions:
        """The decisions.

        Raises:
            ValueError: the file is corrupted.
        """
        import numpy as np

        file = self.file(PROBABILITIES_FILE)
        # What a damaged archive raises, besides errors of NumPy.
        damages = (OSError, EOFError, KeyError, TypeError, ValueError, NotImplementedError, RuntimeError)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return LabelDecisions(**arrays)
        except (*damages, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{file} must hold the probabilities of held-out rows, got an error: {error}") from None


class LabelPair(NamedTuple):
    """How often a given label is likely another one."""

    given: str
    suggested: str
    frequency: int


class LabelErrorReport(NamedTuple):
    """The rows whose labels are likely wrong, for readers.

    Attributes:
        score: the score that orders rows, see `LabelErrorSearch`.
        pairs: the most frequent pairs of a given and a suggested label.
        mistakes: the first of the rows, see `components.scoring.mistakes.Mistakes`: `truth` is the given label,
            `answer` the suggested one, and `value` the score.
    """

    task: str
    folds: int
    score: str
    rows: int
    errors: int
    pairs: Sequence[LabelPair]
    mistakes: Mapping[str, Any]


class LabelErrors(RecordArtifact[LabelErrorReport]):
    """The training rows as a table to correct, those with likely wrong labels first; `label_errors.json` sums it up.

    The table is `label_errors.csv`, or `label_errors.jsonl` for rows with several labels or tags. It has the columns of
    the training table, and `likely_wrong`, `suggested`, `score`, `row` and `source`.
    """

    record_file = "label_errors.json"

    @property
    def table(self) -> str:
        """The name of the table."""
        return next(name for name in LABEL_TABLES if self.file(name).is_file())
