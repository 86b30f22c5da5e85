"""The scores of all models of a job on test rows, and the decision whether its files may be pushed."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from components.dsl.artifact import Artifact, RecordArtifact
from keras_bert.core.folders import METRICS_FILE

ANSWERS_FILE = "answers.json"
# Size of a model -> its heading in tables.
SIZES = {"megabytes": "MB", "download_megabytes": "MB deflated", "milliseconds": "ms"}


class SeedScores(NamedTuple):
    """A metric over seeds; `sd`: the sample standard deviation; None for one seed."""

    mean: float
    sd: float | None
    seeds: Sequence[float]

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """The spread of some values."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, list(values))

    @classmethod
    def table(cls, metrics: Sequence[Mapping[str, float]]) -> dict[str, Self]:
        """Metric -> its spread, of the metrics of each seed."""
        return {name: cls.of([values[name] for values in metrics]) for name in metrics[0]}


@dataclasses.dataclass(frozen=True)
class MeasuredModel:
    """A row of the table of models.

    Attributes:
        megabytes: the size of the file as it is pushed, with its records; None for baselines and for the version pushed
            before.
        download_megabytes: the size of the same file after deflate, which users pay for; None for what is no file.
        milliseconds: the time of one answer on one thread; None likewise.
        trivial: whether it answers without reading the rows, such as always the majority class.
        baseline: whether it is a method without a language model, or the checkpoint without training.
    """

    metrics: Mapping[str, SeedScores]
    megabytes: float | None = None
    milliseconds: float | None = None
    download_megabytes: float | None = None
    trivial: bool = False
    baseline: bool = False

    @property
    def sizes(self) -> dict[str, float | None]:
        """The sizes by name, in the order of the table's columns."""
        return {name: getattr(self, name) for name in SIZES}

    def as_json(self) -> dict[str, Any]:
        """The row as it stands in `metrics.json`: without what it does not have."""
        rest = {
            key: value
            for key, value in vars(self).items()
            if key != "metrics" and value is not None and value is not False
        }
        return {"metrics": _spreads_as_json(self.metrics), **rest}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The row of `as_json`."""
        return cls(**{**content, "metrics": _spreads_from_json(content["metrics"])})


class SliceScore(NamedTuple):
    """The deciding metric of the shipped file, a share, on a part of the test rows.

    `kind` is `length`, `unknown` (the share of unknown tokens), or a column.
    """

    kind: str
    value: str
    rows: int
    score: float
    low: float
    high: float

    @property
    def name(self) -> str:
        """The name in the settings, as `length=9-16`."""
        return f"{self.kind}={self.value}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metrics:
    """The content of `metrics.json`.

    Attributes:
        shipped: the row of the table whose file is pushed.
        kept: the number of the seed whose file is pushed.
        validation: metric -> the scores of the shipped row on validation rows.
        overlap: split -> how many of its rows stand in earlier splits, see `components.examples.overlap`.
        near_overlap: likewise how many have nearly the texts of a row of an earlier split; empty if not looked for.
        report: class -> precision, recall and the like of the shipped file; None for a task without classes.
        confusion: counts, a row for each true label, a column for each predicted one; None likewise.
        calibration: the temperature of the shipped file and its worth, see `components.scoring.calibration`.
        left_out: baseline -> why it could not be measured.
        slices: the scores of the shipped file on parts of the test rows, the worst first.
    """

    task: str
    metric: str
    rows: Mapping[str, int]
    shipped: str
    kept: int
    models: Mapping[str, MeasuredModel]
    validation: Mapping[str, SeedScores] = dataclasses.field(default_factory=dict)
    overlap: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    near_overlap: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    labels: Sequence[str] = ()
    report: Mapping[str, Mapping[str, float]] | None = None
    confusion: Sequence[Sequence[int]] | None = None
    calibration: Mapping[str, Any] | None = None
    warnings: Sequence[str] = ()
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)
    slices: Sequence[SliceScore] = ()

    @property
    def shipped_model(self) -> MeasuredModel:
        """The row of the file that is pushed."""
        return self.models[self.shipped]

    @property
    def score(self) -> SeedScores:
        """The deciding metric of the shipped row."""
        return self.shipped_model.metrics[self.metric]

    @property
    def metric_names(self) -> list[str]:
        """The columns of the table."""
        return list(next(iter(self.models.values())).metrics)

    def as_json(self) -> dict[str, Any]:
        """Plain values for `metrics.json`."""
        models = {name: model.as_json() for name, model in self.models.items()}
        slices = [one._asdict() for one in self.slices]
        return {**vars(self), "models": models, "validation": _spreads_as_json(self.validation), "slices": slices}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The metrics of a `metrics.json`, of an evaluation or of a pushed version."""
        models = {name: MeasuredModel.from_json(model) for name, model in content["models"].items()}
        validation = _spreads_from_json(content.get("validation", {}))
        slices = tuple(SliceScore(**one) for one in content.get("slices", ()))
        return cls(**{**content, "models": models, "validation": validation, "slices": slices})

    @classmethod
    def tables(cls, content: Mapping[str, Any]) -> dict[str, Self]:
        """The metrics of each task of a pushed `metrics.json` by name; those of a model of one task have no name."""
        tables = content.get("tasks", {"": content})
        return {name: cls.from_json(table) for name, table in tables.items()}


def _spreads_as_json(scores: Mapping[str, SeedScores]) -> dict[str, Any]:
    return {name: score._asdict() for name, score in scores.items()}


def _spreads_from_json(content: Mapping[str, Any]) -> dict[str, SeedScores]:
    return {name: SeedScores(**score) for name, score in content.items()}


class FurtherRows(NamedTuple):
    """Rows that a capability adds to the table of models, and what it requires of them: (holds, rule) each.

    `causes`: a rule that does not hold -> its likely cause, unless a stage or a training is; `kept`: the seed to push.
    """

    models: Mapping[str, MeasuredModel]
    verdicts: Sequence[tuple[bool, str]] = ()
    causes: Mapping[str, str] = {}
    kept: int | None = None


class FurtherModels(Artifact):
    """`rows.json`: `FurtherRows`."""

    def write(self, rows: FurtherRows) -> None:
        """Writes the rows."""
        models = {name: model.as_json() for name, model in rows.models.items()}
        self.write_json("rows.json", {**rows._asdict(), "models": models})

    def read(self) -> FurtherRows:
        """The rows."""
        content = self.read_json("rows.json")
        models = {name: MeasuredModel.from_json(model) for name, model in content["models"].items()}
        return FurtherRows(**{**content, "models": models, "verdicts": [*map(tuple, content["verdicts"])]})


class Evaluation(Artifact):
    """`metrics.json`: the table of models, see `Metrics`.

    `answers.json`: the worst answers of the shipped file to test rows, and how reliable its confidences are.
    `vectors.json`: vectors of validation rows in the shipped file, see `components.scoring.row_vectors`.
    """

    def write(self, metrics: Metrics, answers: Mapping[str, Any]) -> None:
        """Writes both files."""
        self.write_json(METRICS_FILE, metrics.as_json())
        self.write_json(ANSWERS_FILE, answers)

    def read(self) -> Metrics:
        """The table of models."""
        return Metrics.from_json(self.read_json(METRICS_FILE))


class Decision(NamedTuple):
    """Whether a model may be pushed.

    Attributes:
        reasons: the comparisons behind it, `yes: ...` or `NO: ...`, and notes about what could not be compared.
        causes: of a model that may not be pushed, what probably made it so: losses of stages, `find_causes`, or
            those of `FurtherRows`.
    """

    blessed: bool
    reasons: Sequence[str]
    warnings: Sequence[str] = ()
    causes: Sequence[str] = ()


class Blessing(RecordArtifact[Decision]):
    """`blessing.json`: {"blessed": true, "reasons": [...], "warnings": [...]}."""

    record_file = "blessing.json"
