"""Evaluation of what will be shipped: the exported files themselves, on rows that nothing was trained or tuned on."""

import json
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from components.artifacts.blessing import Blessing
from components.artifacts.edge_model import EdgeModel
from components.artifacts.evaluation import ANSWERS_FILE, METRICS_FILE, Evaluation
from components.artifacts.model import Model
from components.artifacts.pushed import Pushed
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.examples.registry import read_rows
from components.scoring.base import Answered, TaskScores, choose_metric
from components.scoring.blessing import PREVIOUS, Thresholds, decide
from components.scoring.calibration import CALIBRATED, calibrate, check_precision, measure
from components.scoring.registry import TASK_SCORING
from components.scoring.single_answers import tell_answers
from keras_bert.checks import check
from keras_bert.folders import MODEL_FILE, ONNX_FILE, TFLITE_FILE, TFLITE_FLOAT_FILE
from keras_bert.options.quantization import RECIPES

if TYPE_CHECKING:
    import numpy as np

    from keras_bert.tasks.base import Task

    Features = dict[str, np.ndarray[Any, Any]]

TEACHER, STUDENT = "teacher", "student"
FILES = {"tflite float32": TFLITE_FLOAT_FILE, "tflite": TFLITE_FILE, "onnx float32": ONNX_FILE}
# Bits of a weight -> what a rounded file is called.
ROUNDED = {4: "int4", 8: "int8", 16: "float16"}

# What is shipped is the first of these that there is.
SHIPPED = (*(f"tflite {kind}" for kind in ROUNDED.values()), "tflite float32", "onnx float32", STUDENT, TEACHER)


class Candidate(NamedTuple):
    """A model of one seed, or a file made of it.

    Attributes:
        open: makes the task that asks it.
        file: what it is.
    """

    open: "Callable[[], Task]"
    file: Path


@component(
    libraries=("ai-edge-litert", "keras", "onnxruntime", "scikit-learn", "scipy", "tensorflow", "tensorflow-text"),
    alone=True,
)
def evaluate(
    examples: Input[TaskExamples],
    teachers: Input[list[Model]],
    students: Input[list[Model]],
    edges: Input[list[EdgeModel]],
    evaluation: Output[Evaluation],
    blessing: Output[Blessing],
    previous: Input[Pushed] | None = None,
    thresholds: Thresholds = Thresholds(),
    baselines: bool = True,
) -> None:
    """Measures every model on the test split, beside baselines, and decides whether the files may be pushed.

    Of several seeds, each of which made a model of its own, validation rows choose the one whose files are pushed. Its
    figures on test rows are no better than those of the others but by chance: the table has the mean of all seeds.
    Labels of the shipped file get a temperature, and a threshold if one is asked for, on validation rows, too.

    Args:
        examples: their test split is read here and nowhere else, after the last decision.
        teachers: the fine-tuned models, one a seed.
        students: the float models made of them, before quantization; none where the teachers themselves are exported.
        edges: the exported files of each seed; none where nothing is exported.
        evaluation: a row a model, and the worst answers of the shipped one.
        blessing: the decision and its reasons.
        previous: the version pushed before, measured on the same rows.
        thresholds: what decides.
        baselines: whether to measure what needs no language model, too.

    Raises:
        InputError: the task has no such metric, or no labels to be sure of.
    """
    from keras_bert.data.records import read_features

    check("evaluate", "teachers", bool(teachers), "be at least one", len(teachers))
    description = read_features(examples.path)
    candidates = _candidates(teachers, students, edges)
    shipped = next(name for name in SHIPPED if name in candidates)
    # Of files alone, and where answers are labels.
    calibrated = bool(edges) and description["task"] in CALIBRATED
    told = sum(map(len, candidates.values())) + len(teachers) + 1 + baselines + 2 * calibrated
    bench = _Bench(description, told)
    metric = choose_metric(thresholds.metric, bench.scoring, bench.labels)
    check_precision(thresholds.min_precision, description["task"])
    train, validation = (read_rows(examples, split) for split in ("train", "validation"))
    chosen_by = [
        scored.scores.metrics
        for scored in bench.score_all(f"{shipped} on validation rows", candidates[shipped], validation)
    ]
    kept = max(range(len(chosen_by)), key=lambda seed: chosen_by[seed][metric])
    file = candidates[shipped][kept]
    calibration = bench.calibrate(file, validation, thresholds.min_precision) if calibrated else None
    # Nothing is decided from here on.
    test = read_rows(examples, "test")
    answered = None if calibration is None else bench.ask("calibration on test rows", file, test)
    if calibration is not None and answered is not None:
        calibration["test"] = measure(calibration, answered, bench.labels)
    rows = bench.baselines(train, validation, test) if baselines else {}
    found = {name: bench.score_all(name, seeds, test) for name, seeds in candidates.items()}
    features = _read_features(examples)
    for name, seeds in candidates.items():
        rows[name] = {
            "metrics": _spread([scored.scores.metrics for scored in found[name]]),
            **_size(seeds[kept], features),
        }
    missing = bench.add_previous(previous, rows, test)
    decision = decide(rows, metric, shipped, thresholds, calibration)
    decision["reasons"] += [missing] if missing else []
    best = found[shipped][kept]
    content = {
        "task": description["task"],
        "metric": metric,
        "rows": description["rows"],
        "labels": bench.labels,
        "shipped": shipped,
        "kept": kept,
        "models": rows,
        "validation": _spread(chosen_by),
        "report": best.scores.report,
        "confusion": best.scores.confusion,
        "calibration": calibration,
    }
    evaluation.file(METRICS_FILE).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    answers = tell_answers(bench.scoring, test, best.answers, bench.labels, calibration, answered)
    evaluation.file(ANSWERS_FILE).write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
    blessing.file("blessing.json").write_text(json.dumps(decision, indent=1, ensure_ascii=False) + "\n")
    evaluation.counts = {"test_rows": len(test), metric: rows[shipped]["metrics"][metric]["mean"]}
    blessing.counts = {"blessed": decision["blessed"]}


class Scored(NamedTuple):
    """What a model answers to the rows of a split, and its scores there."""

    scores: TaskScores
    answers: list[Any]


class _Bench:
    """Asks tasks about rows, and tells how far it is.

    Args:
        description: what `features.json` says.
        total: how often it will tell.
    """

    def __init__(self, description: Mapping[str, Any], total: int) -> None:
        self.scoring = TASK_SCORING[description["task"]]
        self.labels: list[str] = description["settings"].get("labels", [])
        self._done, self._total = 0, total

    def _tell(self, note: str) -> None:
        report_progress(self._done, self._total, note)
        self._done += 1

    def _score(self, task: "Task", rows: Sequence[Any]) -> Scored:
        answers = self.scoring.ask(task, rows)
        return Scored(self.scoring.score(rows, answers, self.labels), answers)

    def score_all(self, name: str, seeds: Sequence[Candidate], rows: Sequence[Any]) -> list[Scored]:
        """The scores of each seed's model, one in memory at a time."""
        found = []
        for number, candidate in enumerate(seeds, start=1):
            self._tell(name if len(seeds) == 1 else f"{name}, {number} of {len(seeds)}")
            found.append(self._score(candidate.open(), rows))
        return found

    def calibrate(self, file: Candidate, validation: Sequence[Any], precision: float | None) -> dict[str, Any]:
        """See `components.scoring.calibration.calibrate`."""
        return calibrate(self.ask("calibration", file, validation), self.labels, precision)

    def ask(self, note: str, file: Candidate, rows: Sequence[Any]) -> Answered:
        """What lies behind the labels that a file answers with."""
        self._tell(note)
        found = self.scoring.logits(file.open(), rows)
        assert found is not None, f"CALIBRATED must not hold {self.scoring.name}"
        return found

    def baselines(
        self, train: Sequence[Any], validation: Sequence[Any], test: Sequence[Any]
    ) -> dict[str, dict[str, Any]]:
        """The rows of the table for which nobody needs a language model; the first is the same answer to all."""
        self._tell("baselines")
        trivial = self.scoring.trivial(train, test)
        answers = ({} if trivial is None else dict([trivial])) | self.scoring.baselines(train, validation, test)
        rows: dict[str, dict[str, Any]] = {
            name: {"metrics": _spread([self.scoring.score(test, own, self.labels).metrics])}
            for name, own in answers.items()
        }
        if trivial is not None:
            rows[trivial[0]]["trivial"] = True
        return rows

    def add_previous(self, previous: Pushed | None, rows: dict[str, dict[str, Any]], test: Sequence[Any]) -> str:
        """Adds the version pushed before, with its own vocabulary, on the same rows; else tells why it cannot be."""
        from keras_bert.export.bundle import load_exported

        self._tell(PREVIOUS)
        if previous is None:
            return ""
        task = load_exported(previous.location(), num_threads=_threads())
        if (task.name, list(getattr(task, "labels", ()))) != (self.scoring.name, self.labels):
            return f"not compared: the version before, {previous.location()}, knows another task or other labels"
        rows[PREVIOUS] = {"metrics": _spread([self._score(task, test).scores.metrics])}
        return ""


def _candidates(
    teachers: Sequence[Model], students: Sequence[Model], edges: Sequence[EdgeModel]
) -> dict[str, list[Candidate]]:
    """Name -> the model or file of each seed."""
    from keras_bert.export.bundle import load_exported
    from keras_bert.tasks.registry import load

    def model(artifact: Model) -> Candidate:
        return Candidate(lambda: load(artifact.path), artifact.file(MODEL_FILE))

    def file(artifact: EdgeModel, name: str) -> Candidate:
        return Candidate(lambda: load_exported(artifact.path, name, num_threads=_threads()), artifact.file(name))

    found = {TEACHER: [model(artifact) for artifact in teachers], STUDENT: [model(artifact) for artifact in students]}
    for title, name in FILES.items():
        held = [artifact for artifact in edges if artifact.file(name).is_file()]
        if name == TFLITE_FILE and held:
            title = f"{title} {_rounded(held[0])}"
        found[title] = [file(artifact, name) for artifact in held]
    return {title: seeds for title, seeds in found.items() if seeds}


def _rounded(edge: EdgeModel) -> str:
    """What the weights of the rounded file are."""
    recipe = json.loads(edge.file("recipe.json").read_text())[TFLITE_FILE]["recipe"]
    return ROUNDED[RECIPES[recipe].weight_bits]


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _spread(values: Sequence[dict[str, float]]) -> dict[str, dict[str, Any]]:
    """Metric -> its mean and sample standard deviation (None of a single value) over seeds, and the values."""
    table = {name: [own[name] for own in values] for name in values[0]}
    return {
        name: {
            "mean": statistics.fmean(own),
            "sd": statistics.stdev(own) if len(own) > 1 else None,
            "seeds": own,
        }
        for name, own in table.items()
    }


def _size(candidate: Candidate, features: "Sequence[Features]") -> dict[str, float]:
    """Megabytes of a file, and milliseconds for one row on one thread."""
    from components.scoring.latency import time_rows, traced
    from keras_bert.export.runtimes import open_file

    if candidate.file.name == MODEL_FILE:
        milliseconds = time_rows(traced(candidate.open().network()), features)
    else:
        longest = max(row["token_ids"].shape[1] for row in features)
        milliseconds = time_rows(open_file(candidate.file, longest).predict_on_batch, features)
    return {"megabytes": candidate.file.stat().st_size / 1e6, "milliseconds": milliseconds}


def _read_features(examples: TaskExamples) -> "list[Features]":
    """The first test rows as model inputs, each (1, length), without padding."""
    from components.scoring.latency import TIMED_ROWS
    from keras_bert.data.task_batches import task_batches
    from keras_bert.folders import INPUT_NAMES

    rows = []
    for batch in task_batches(examples.path, "test", 1).epoch().take(TIMED_ROWS):
        length = int(batch["padding_mask"].numpy().sum())
        rows.append({name: batch[name].numpy()[:, :length] for name in INPUT_NAMES})
    return rows
