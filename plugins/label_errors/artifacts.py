"""Artifacts of the search for wrong labels: folds, out-of-fold probabilities and likely errors."""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.dsl.artifact import Artifact, RecordArtifact

if TYPE_CHECKING:
    from components.dsl.arrays import Array


PROBABILITIES_FILE = "probabilities.npz"
# File names of the table: CSV for rows of texts, JSON lines for other rows.
LABEL_TABLES = ("label_errors.csv", "label_errors.jsonl")


class Folds(RecordArtifact[list[int]]):
    """`folds.json`: the fold of each training row, [0, 3, 1, ...]."""

    record_file = "folds.json"


class LabelDecisions(NamedTuple):
    """Decisions about labels of training rows, each by a model that did not learn from the row.

    Attributes:
        rows: the index of each decision's row, ascending (decisions,).
        places: the index of the word or label in its row; 0 for tasks with one label per row (decisions,).
        probabilities: the probabilities of the classes, see `TaskScoring.classes` (decisions, classes).
    """

    rows: "Array"
    places: "Array"
    given: "Array"
    probabilities: "Array"


class HeldOutProbabilities(Artifact):
    """`probabilities.npz`: the arrays of `LabelDecisions`."""

    def write(self, decisions: LabelDecisions) -> None:
        """Writes the decisions; equal decisions give equal bytes."""
        import numpy as np

        np.savez(self.file(PROBABILITIES_FILE), **decisions._asdict())

    def read(self) -> LabelDecisions:
        """The decisions."""
        import numpy as np

        file = self.file(PROBABILITIES_FILE)
        # Errors that NumPy raises for a damaged archive.
        damages = (OSError, EOFError, KeyError, TypeError, ValueError, NotImplementedError, RuntimeError)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return LabelDecisions(**arrays)
        except (*damages, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{file} must hold the probabilities of held-out rows, got an error: {error}") from None


class LabelPair(NamedTuple):
    """How often the models suggest another label for a given label."""

    given: str
    suggested: str
    frequency: int


class LabelErrorReport(NamedTuple):
    """Summary of the rows whose labels are likely wrong, in the order of a score, see `LabelErrorSearch`.

    Of the first `mistakes`, `truth` is the given label, `answer` the suggested one, and `value` the score.
    """

    task: str
    folds: int
    score: str
    rows: int
    errors: int
    pairs: Sequence[LabelPair]
    mistakes: Mapping[str, Any]


class LabelErrors(RecordArtifact[LabelErrorReport]):
    """The training rows as a table to correct, likely errors first, and the summary `label_errors.json`.

    The table is `label_errors.csv`, or `label_errors.jsonl` for rows with several labels or tags. It has the columns of
    the training table, and `likely_wrong`, `suggested`, `score`, `row` and `source`.
    """

    record_file = "label_errors.json"

    @property
    def table(self) -> str:
        """The file name of the table."""
        return next(name for name in LABEL_TABLES if self.file(name).is_file())
