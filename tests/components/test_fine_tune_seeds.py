"""Fine-tuning of every task over two seeds, with only training rows given."""

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keras_bert
from components import fine_tune_seeds as module
from components.artifacts import Model, Scores, TaskExamples, Vocabulary
from components.base import InputError
from components.fine_tune import fine_tune
from components.fine_tune_seeds import fine_tune_seeds
from components.fine_tuning import Selection
from components.task_rows import predict, read_rows
from components.task_scores import metric_names, score_task
from components.workplace import set_progress_sink
from keras_bert.config import Training
from keras_bert.records import read_features
from tests.components import tuning_job

TRAINING = Training(epochs=15.0, batch_size=8, learning_rate=1e-2, seed=3, xla="off")  # compiling takes longer
SELECTION = Selection(validations=2)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    tuning_job.write_checkpoint(folder)
    return folder


@pytest.fixture(scope="module")
def job(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Task -> its examples, the kept model, the scores and the order in which splits were read."""
    folder = tmp_path_factory.mktemp("job")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for task in tuning_job.TASKS:
            read: list[str] = []
            patch.setattr(
                module, "read_rows", lambda rows, split, read=read: read.append(split) or read_rows(rows, split)
            )
            source = tuning_job.write_rows(folder, task)
            examples = tuning_job.ingest(folder, Vocabulary(checkpoint / "vocabulary"), source)
            found[task] = (examples, *run(folder / task, checkpoint, examples), read)
    return found


def run(folder: Path, checkpoint: Path, examples: TaskExamples, **more: Any) -> tuple[Model, Scores]:
    model, scores = Model(folder / "model"), Scores(folder / "scores")
    arguments = {"training": TRAINING, "selection": SELECTION, "seeds": 2, **more}
    fine_tune_seeds(pretrained=Model(checkpoint / "model"), examples=examples, model=model, scores=scores, **arguments)
    return model, scores


def content(scores: Scores) -> dict[str, Any]:
    return json.loads(scores.file("scores.json").read_text())


@pytest.mark.parametrize("task", tuning_job.TASKS)
def test_the_scores_are_those_of_the_models(job: dict[str, Any], task: str) -> None:
    examples, model, scores, _ = job[task]
    found = content(scores)
    loaded = keras_bert.load(model.path)
    names = metric_names(task, getattr(loaded, "labels", ()))
    assert (found["task"], found["metric"]) == (task, names[0])
    assert [entry["seed"] for entry in found["seeds"]] == [3, 4]
    for split in ("validation", "test"):
        for name in names:
            values = [entry[split][name] for entry in found["seeds"]]
            assert found[split][name] == {"mean": statistics.fmean(values), "sd": statistics.stdev(values)}
    # What the folder of the model answers today is what the file says of its seed.
    kept = next(entry for entry in found["seeds"] if entry["seed"] == found["kept"])
    assert kept["validation"][names[0]] == max(entry["validation"][names[0]] for entry in found["seeds"])
    for split in ("validation", "test"):
        assert score_task(loaded, read_rows(examples, split)).metrics == pytest.approx(kept[split])
    assert found["report"] == score_task(loaded, read_rows(examples, "test")).report
    assert found["rows"] == read_features(examples.path).get("rows", read_features(examples.path)["counts"])


@pytest.mark.parametrize("task", tuning_job.TASKS)
def test_the_test_split_is_read_once_after_all_else(job: dict[str, Any], task: str) -> None:
    assert job[task][3] == ["validation", "validation", "test"]


@pytest.mark.parametrize("task", tuning_job.TASKS)
def test_equal_texts_stand_in_one_split_where_only_training_is_given(
    checkpoint: Path, tmp_path: Path, task: str
) -> None:
    source = tuning_job.write_rows(tmp_path, task, copies=2)
    examples = tuning_job.ingest(tmp_path, Vocabulary(checkpoint / "vocabulary"), source)
    rows = {split: read_rows(examples, split) for split in ("train", "validation", "test")}
    texts = {
        split: {row.context if task == "question_answering" else row[0] for row in found}
        for split, found in rows.items()
    }
    assert [len(found) for found in rows.values()] == [64, 8, 8]
    assert [len(found) for found in texts.values()] == [32, 4, 4]
    assert len(set.union(*texts.values())) == 40


def test_a_seed_of_many_is_trained_as_by_itself(job: dict[str, Any], checkpoint: Path, tmp_path: Path) -> None:
    examples, model, scores, _ = job["classification"]
    alone = Model(tmp_path / "alone")
    training = Training(**{**vars(TRAINING), "seed": content(scores)["kept"]})
    pretrained = Model(checkpoint / "model")
    fine_tune(pretrained=pretrained, examples=examples, model=alone, training=training, selection=SELECTION)
    assert alone.fingerprint() == model.fingerprint()


def test_the_same_again_gives_the_same_bytes(job: dict[str, Any], checkpoint: Path, tmp_path: Path) -> None:
    examples, model, scores, _ = job["regression"]
    again = run(tmp_path, checkpoint, examples)
    assert [artifact.fingerprint() for artifact in again] == [model.fingerprint(), scores.fingerprint()]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "scores"], "nothing is left of the other seeds"


def test_something_is_learnt(job: dict[str, Any]) -> None:
    found = {task: content(scores) for task, (_, _, scores, _) in job.items()}
    means = {task: scores["validation"][scores["metric"]]["mean"] for task, scores in found.items()}
    assert min(means.values()) > 0.5, means


def test_answers_are_always_given_where_training_has_one_to_each_question(job: dict[str, Any]) -> None:
    examples, model, _, _ = job["question_answering"]
    task = keras_bert.load(model.path)
    assert task.settings()["null_threshold"] is None
    assert task.settings()["stride"] == read_features(examples.path)["stride"]
    assert all(answer.text for answer in predict(task, read_rows(examples, "test")))


def test_progress_covers_all_that_is_scored(job: dict[str, Any], checkpoint: Path, tmp_path: Path) -> None:
    seen: list[tuple[float, float, str]] = []
    set_progress_sink(lambda *report: seen.append(report))
    try:
        run(tmp_path, checkpoint, job["classification"][0])
    finally:
        set_progress_sink(lambda *_: None)
    told = [(done / total, note) for done, total, note in seen if total]
    assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert all(share < 1 for share, _ in told)
    # 60 steps on 32 rows; to score the 4 rows of validation and of test takes a sixth of a step each time.
    whole = 2 * (60 + (2 + 1 + 1) / 6)
    expected = {
        "seed 3: scoring validation rows": 60 + 2 / 6,
        "seed 4: scoring validation rows": 2 * (60 + 2 / 6) + 1 / 6,
        "testing seed 3": whole - 2 / 6,
        "testing seed 4": whole - 1 / 6,
    }
    found = {note: share for share, note in told if note in expected}
    assert found == {note: pytest.approx(done / whole) for note, done in expected.items()}
    assert {"seed 3: compiling", "seed 4: compiling"} <= {note for _, total, note in seen if not total}


def test_class_weights_and_another_metric(job: dict[str, Any], checkpoint: Path, tmp_path: Path) -> None:
    examples = job["classification"][0]
    rows = read_rows(examples, "train")
    model, scores = run(tmp_path, checkpoint, examples, seeds=1, class_weights={"animal": 1000.0}, metric="mcc")
    answers = predict(keras_bert.load(model.path), rows)
    assert answers.count("animal") == len(rows) > 1.5 * [row.answer for row in rows].count("animal")
    assert content(scores)["metric"] == "mcc"
    assert content(scores)["test"]["mcc"] == {"mean": 0.0, "sd": None}


@pytest.mark.parametrize(
    ("task", "arguments", "message"),
    [
        ("classification", {"metric": "f1"}, r"metric must be one of \['accuracy', 'macro_f1', 'mcc'\] for classif"),
        ("classification", {"class_weights": {"animals": 2.0}}, "class_weights has 'animals', which is no label; did "),
        ("classification", {"class_weights": {"plant": 0.0}}, "class_weights.plant must be positive and finite, got 0"),
        (
            "regression",
            {"class_weights": "balanced"},
            "class_weights must be 'none' for regression, which has no label",
        ),
        ("question_answering", {"class_weights": {"a": 1.0}}, "class_weights must be 'none' for question_answering"),
    ],
)
def test_what_cannot_be_is_refused_before_training(
    job: dict[str, Any], checkpoint: Path, tmp_path: Path, task: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(tmp_path, checkpoint, job[task][0], **arguments)


def test_pooling_by_the_pooler_needs_one(job: dict[str, Any], tmp_path: Path) -> None:
    tuning_job.write_checkpoint(tmp_path, pooler=False)
    message = "the checkpoint cannot learn classification from these rows: encoder must have a pooler, got one without"
    with pytest.raises(InputError, match=message):
        run(tmp_path / "run", tmp_path, job["classification"][0], pooling="cls")


def test_weights_are_those_with_which_validation_was_best(
    job: dict[str, Any], checkpoint: Path, tmp_path: Path
) -> None:
    scores = job["classification"][2]
    histories = [json.loads(line) for line in scores.file("histories.jsonl").read_text().splitlines()]
    for entry in content(scores)["seeds"]:
        own = [
            line["validation_accuracy"]
            for line in histories
            if line["seed"] == entry["seed"] and "validation_accuracy" in line
        ]
        assert len(own) == 2
        assert entry["validation"]["accuracy"] == pytest.approx(max(own))


def test_training_stops_when_patience_is_at_an_end(job: dict[str, Any], checkpoint: Path, tmp_path: Path) -> None:
    model = Model(tmp_path / "model")
    fine_tune(
        pretrained=Model(checkpoint / "model"),
        examples=job["classification"][0],
        model=model,
        # So small a rate moves nothing: the first validation stays the best.
        training=Training(epochs=20.0, batch_size=8, learning_rate=1e-12, xla="off"),
        selection=Selection(validations=20, patience=2),
    )
    history = [json.loads(line) for line in model.file("history.jsonl").read_text().splitlines()]
    assert sum("validation_accuracy" in entry for entry in history) == 3
    assert np.ptp([entry["validation_accuracy"] for entry in history if "validation_accuracy" in entry]) == 0
