"""Fine-tuning over several seeds: how good a checkpoint is on a task, and by how much chance moves that."""

import dataclasses
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts import Model, Scores, TaskExamples
from components.base import Input, InputError, Output, component
from components.fine_tuning import ClassWeights, Selection, task_labels, tune
from components.model_folder import write_model
from components.task_rows import read_rows
from components.task_scores import TaskScores, choose_metric, score_task
from components.training_progress import forward_work, training_work
from components.workplace import ProgressSink, Stages
from keras_bert.config import Pooling, Training, check

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


@dataclasses.dataclass(frozen=True)
class Trial:
    """One seed's training.

    Attributes:
        seed: of its training.
        file: its model.
        settings: of its task.
        history: of its training.
        validation: its metrics on the validation split.
    """

    seed: int
    file: Path
    settings: dict[str, Any]
    history: list[dict[str, float]]
    validation: dict[str, float]


@component(libraries=("keras", "numpy", "scikit-learn", "scipy", "tensorflow", "tensorflow-text"))
def fine_tune_seeds(
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    scores: Output[Scores],
    pooling: Pooling = "mean",
    class_weights: ClassWeights = "none",
    training: Training = Training(),
    selection: Selection = Selection(),
    seeds: int = 3,
    metric: str = "",
) -> None:
    """Trains once for each seed, keeps the model that is best on validation rows, then scores all on test rows.

    Each seed's training is that of `fine_tune`. The test split is read once, after the last decision was made; its
    mean and sample standard deviation are over all seeds, not of the kept model, which is no better there than chance.

    Args:
        pretrained: a model with an encoder; its heads are dropped.
        examples: labelled rows of any task, made with the same vocabulary.
        model: that of the seed with the best `metric` on the validation split; the first of equals.
        scores: see `summarize`.
        pooling: of a classification or regression, how the states of the tokens become one vector.
        class_weights: how much the rows of each label weigh in the loss, see `find_class_weights`.
        training: how long and how to train; the seeds are `training.seed` and those that follow.
        selection: which weights of a training are kept.
        seeds: how many.
        metric: what decides, see `metric_names`; the main one of the task if empty.

    Raises:
        ValueError: `seeds` is below 1.
        InputError: the checkpoint and the examples do not fit, or the task has no such metric or class weights.
    """
    check("fine_tune_seeds", "seeds", seeds >= 1, "be at least 1", seeds)
    dataclasses.replace(training, seed=training.seed + seeds - 1)  # raises where the last seed is too large
    from keras_bert.records import read_features

    features, labels = read_features(examples.path), task_labels(examples)
    metric = choose_metric(metric, features["task"], labels)
    rows = _count_rows(features)
    stages = _stages(features["counts"], training, selection, seeds)
    # Beside the output, on the same disk: the models of all seeds wait for their test.
    with tempfile.TemporaryDirectory(dir=model.path.parent) as folder:
        trials: list[Trial] = []
        for number in range(seeds):
            task, trial = _try_seed(
                dataclasses.replace(training, seed=training.seed + number),
                Path(folder),
                (stages.sink(2 * number), stages.sink(2 * number + 1)),
                pretrained=pretrained,
                examples=examples,
                pooling=pooling,
                class_weights=class_weights,
                selection=selection,
            )
            trials.append(trial)
        kept = choose(trials, metric)
        tested = _test(task, trials, examples, [stages.sink(2 * seeds + number) for number in range(seeds)])
        content = summarize(features["task"], metric, rows, trials, kept, tested)
        scores.file("scores.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        scores.counts = {"seeds": seeds, **{name: value["mean"] for name, value in content["test"].items()}}
        _write_histories(trials, scores.file("histories.jsonl"))
        best = _load(task, kept)
        write_model(model, best.model, pretrained, {"task": best.name, **best.settings()}, kept.history)


def choose(trials: Sequence[Trial], metric: str) -> Trial:
    """The trial with the greatest metric on validation rows, the first of equals; test rows have no say in it."""
    return max(trials, key=lambda trial: trial.validation[metric])


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """The mean and the sample standard deviation (divided by one less than there are), None of a single value."""
    return {"mean": statistics.fmean(values), "sd": statistics.stdev(values) if len(values) > 1 else None}


def summarize(
    task: str,
    metric: str,
    rows: Mapping[str, int],
    trials: Sequence[Trial],
    kept: Trial,
    tested: Sequence[TaskScores],
) -> dict[str, Any]:
    """What `scores.json` says.

    Args:
        task: a key of `TASKS`.
        metric: the one that decided.
        rows: of each split.
        trials: one a seed.
        kept: that whose model is kept.
        tested: of each trial its scores on the test split.

    Returns:
        `task`, `metric`, `rows`; `seeds`: of each seed its `validation` and `test` metrics; `validation` and `test`:
        of each metric its `mean` and `sd` over the seeds; `kept`: the seed of the model; `report`: of that model and
        the test split, see `TaskScores`.
    """
    splits = {"validation": [trial.validation for trial in trials], "test": [scores.metrics for scores in tested]}
    return {
        "task": task,
        "metric": metric,
        "rows": dict(rows),
        "seeds": [
            {"seed": trial.seed, "validation": trial.validation, "test": scores.metrics}
            for trial, scores in zip(trials, tested, strict=True)
        ],
        **{
            split: {name: spread([metrics[name] for metrics in found]) for name in found[0]}
            for split, found in splits.items()
        },
        "kept": kept.seed,
        "report": tested[trials.index(kept)].report,
    }


def _count_rows(features: Mapping[str, Any]) -> dict[str, int]:
    """The rows of each split: of questions and sentences those that were read, not the records made of them.

    Raises:
        InputError: a split has too few rows to score a regression.
    """
    rows: dict[str, int] = features.get("rows", features["counts"])
    if features["task"] == "regression":
        for split in ("validation", "test"):
            if rows[split] < 2:
                raise InputError(f"a regression must have at least 2 {split} rows to correlate, got {rows[split]}")
    return rows


def _stages(counts: Mapping[str, int], training: Training, selection: Selection, seeds: int) -> Stages:
    """Of each seed its training and its validation rows, and then of each seed the test rows."""
    trial = training_work(counts, training, selection.validations), forward_work(counts["validation"], training)
    return Stages([*trial * seeds, *[forward_work(counts["test"], training)] * seeds])


def _try_seed(
    training: Training, folder: Path, sinks: tuple[ProgressSink, ProgressSink], **arguments: Any
) -> tuple["Task", Trial]:
    """Trains with one seed, saves the model and scores it on the validation split."""
    from keras_bert.saving import save_model

    tuning, scoring = sinks

    def on_progress(done: float, total: float, note: str) -> None:
        tuning(done, total, f"seed {training.seed}: {note}")

    task, history = tune(training=training, on_progress=on_progress, **arguments)
    scoring(0, 1, f"seed {training.seed}: scoring validation rows")
    file = folder / f"{training.seed}.keras"
    save_model(task.model, file)
    found = score_task(task, read_rows(arguments["examples"], "validation"))
    return task, Trial(training.seed, file, task.settings(), history, found.metrics)


def _test(
    task: "Task", trials: Sequence[Trial], examples: TaskExamples, sinks: Sequence[ProgressSink]
) -> list[TaskScores]:
    """The scores of every trial's model on the test split, which is read here and nowhere else."""
    rows = read_rows(examples, "test")
    found = []
    for trial, report in zip(trials, sinks, strict=True):
        report(0, 1, f"testing seed {trial.seed}")
        found.append(score_task(_load(task, trial), rows))
    return found


def _load(task: "Task", trial: Trial) -> "Task":
    """The task as it was after a trial; of `task` only the kind and the tokenizer are taken."""
    from keras_bert.saving import load_model

    return type(task).from_settings(load_model(trial.file), task.tokenizer, trial.settings)


def _write_histories(trials: Sequence[Trial], file: Path) -> None:
    """Writes one JSON object a line: the histories of all seeds, one after the other."""
    entries = [{"seed": trial.seed, **entry} for trial in trials for entry in trial.history]
    file.write_text("".join(json.dumps(entry, sort_keys=True) + "\n" for entry in entries))
