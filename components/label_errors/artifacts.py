"""The search for wrong labels: folds of training rows, probabilities of held-out rows, and the rows to look at."""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from components.dsl.artifact import Artifact

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


FOLDS_FILE, PROBABILITIES_FILE, LABEL_ERRORS_FILE = "folds.json", "probabilities.npz", "label_errors.json"
# The names of the table, for rows whose columns are texts and for others.
LABEL_TABLES = ("label_errors.csv", "label_errors.jsonl")


class Folds(Artifact):
    """`folds.json`: the fold of each training row, [0, 3, 1, ...]."""

    def write(self, folds: Sequence[int]) -> None:
        """Writes the fold of each row."""
        self.write_json(FOLDS_FILE, list(folds))

    def read(self) -> list[int]:
        """The fold of each row."""
        folds: list[int] = self.read_json(FOLDS_FILE)
        return folds


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
        task: the name of the task.
        folds: number of models that judged the rows.
        score: the score that orders rows, see `LabelErrorSearch`.
        rows: number of training rows.
        errors: number of rows with a likely wrong label.
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


class LabelErrors(Artifact):
    """The training rows as a table to correct, those with likely wrong labels first; `label_errors.json` sums it up.

    The table is `label_errors.csv`, or `label_errors.jsonl` for rows with several labels or tags. It has the columns of
    the training table, and `likely_wrong`, `suggested`, `score`, `row` and `source`.
    """

    def write(self, report: LabelErrorReport) -> None:
        """Writes the summary."""
        content = {**report._asdict(), "pairs": [pair._asdict() for pair in report.pairs]}
        self.write_json(LABEL_ERRORS_FILE, content)

    def read(self) -> LabelErrorReport:
        """The summary.

        Raises:
            KeyError, TypeError: a field is missing or unknown.
        """
        content = self.read_json(LABEL_ERRORS_FILE)
        return LabelErrorReport(**{**content, "pairs": [LabelPair(**pair) for pair in content["pairs"]]})

    @property
    def table(self) -> str:
        """The name of the table."""
        return next(name for name in LABEL_TABLES if self.file(name).is_file())
