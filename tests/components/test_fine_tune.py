"""Fine-tuning of every task: what is learnt, which weights are kept, and what is refused before anything is trained."""

import contextlib
import json
import types
from collections.abc import Callable

import numpy as np
import pytest

from components.artifacts.standard import Model
from components.dsl.errors import InputError
from components.examples.registry import read_rows
from components.fine_tune import fine_tune
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import FROZEN_HEAD_FILE, read_model
from components.training.tuning import HeadSettings
from keras_bert.data.records import read_features
from keras_bert.options.tables import FineTuningSettings
from keras_bert.tasks.registry import TASKS
from keras_bert.training import new_head
from tests.components import tuning_job
from tests.components.tuning_job import SELECTION, TRAINING, Line, table
from tests.samples import long_but

Lines = Callable[[str], Line]


def run(line, model, **changes):
    """Fine-tunes; `changes` are inputs of the step, and fields of its settings."""
    given = {"pretrained": line.pretrained, "examples": line.examples}
    given |= {name: changes.pop(name) for name in ("pretrained", "examples", "new_head") if name in changes}
    fine_tune.run(**given, model=Model(model), fine_tuning=table(FineTuningSettings, TRAINING, SELECTION, **changes))
    return Model(model)


def history(model, name):
    entries = [json.loads(text) for text in model.file("history.jsonl").read_text().splitlines()]
    return [entry[name] for entry in entries if name in entry]


@pytest.mark.parametrize("task", long_but(("classification",), tuning_job.TASKS))
def test_every_task_is_learnt(line, task):
    artifacts = line(task)
    losses = history(artifacts.teacher, "loss")
    assert losses[-1] < losses[0] / 4
    made, settings = artifacts.load("teacher"), read_features(artifacts.examples.path)["settings"]
    assert made.name == task
    assert made.tokenizer.vocabulary == artifacts.load("pretrained").tokenizer.vocabulary
    # All but what is found when the training is over.
    read_settings = {**made.settings(), **made.head(), "null_threshold": 0}
    assert {**read_settings, **settings, "null_threshold": 0} == read_settings


def test_class_weights_move_the_answers(line):
    artifacts = line("classification")
    rows = read_rows(artifacts.examples, "train")
    answers = TASK_SCORING["classification"].answer(artifacts.load("lopsided"), rows)
    assert answers.count("animal") == len(rows) > 1.5 * [row.label for row in rows].count("animal")


def test_training_stops_when_patience_is_at_an_end_and_keeps_the_best_weights(line, tmp_path):
    artifacts = line("regression")
    # The rate rises to the end, and soon is too high.
    changes = {"steps": 40, "learning_rate": 0.2, "warmup": 1.0, "validations": 20, "patience": 2}
    model = run(artifacts, tmp_path / "model", start_head="random", **changes)
    seen = history(model, "validation_loss")
    best = min(seen)
    assert 1 < len(seen) < 20
    assert seen.index(best) == len(seen) - 3
    assert history(model, "step")[-1] == 2 * len(seen)
    rows = read_rows(artifacts.examples, "validation")
    task = read_model(model)
    answers = TASK_SCORING["regression"].answer(task, rows)
    squares = [(answer - float(row.label)) ** 2 for answer, row in zip(answers, rows, strict=True)]
    assert sum(squares) / len(rows) / task.scale.standard_deviation**2 == pytest.approx(best, rel=1e-4)


@pytest.fixture
def trainer_calls(monkeypatch):
    """What the trainer is asked for, which then trains nothing."""
    calls = []

    def keep(step, batches, **arguments):
        calls.append({"steps": step.steps, **arguments})
        return types.SimpleNamespace(fit=lambda: [{"step": step.steps}])

    monkeypatch.setattr("keras_bert.recipes.train.Trainer", keep)
    return calls


@pytest.mark.parametrize("task", long_but(("classification", "regression"), tuning_job.TASKS))
def test_validation_rows_decide_by_accuracy_or_loss(line, tmp_path, trainer_calls, task):
    artifacts = line(task)
    run(artifacts, tmp_path / "model", validations=7, patience=3)
    expected = ("validation_accuracy" if task == "classification" else "validation_loss",)
    chosen = [(call["select"], call["patience"], call["validations"], call["steps"]) for call in trainer_calls]
    assert chosen == [(expected, 3, 7, 120)]


def test_nothing_is_chosen_where_the_last_weights_are_kept(line, tmp_path, trainer_calls):
    run(line("classification"), tmp_path / "model", keep="last", validations=4)
    assert [(call["select"], call["patience"], call["validations"]) for call in trainer_calls] == [((), None, 4)]


@pytest.mark.parametrize("class_weights", long_but(["balanced"], ["none", "balanced"]))
@pytest.mark.parametrize("task", ["classification", "multi_label", "token_classification"])
def test_a_head_that_is_not_fitted_starts_from_the_frequencies_of_the_labels(
    line,
    tmp_path,
    trainer_calls,
    monkeypatch,
    task,
    class_weights,
):
    monkeypatch.setattr(new_head, "_LEAST_GAIN", 1.0)
    artifacts = line(task)
    run(artifacts, tmp_path / "model", class_weights=class_weights)
    made = read_model(Model(tmp_path / "model"))
    description = read_features(artifacts.examples.path)
    counts = np.array([description["labels"]["train"].get(label, 0) for label in made.labels])
    present, absent = counts, description["rows"]["train"] - counts
    if class_weights == "balanced":
        # A row with a label weighs as all rows without it; the tags that occur, all but I-animal, weigh the same.
        present = absent if task == "multi_label" else np.where(counts, counts.sum() / (counts > 0).sum(), 0)
    bias = made.model.get_layer("classifier").bias.numpy()
    if task == "multi_label":
        np.testing.assert_allclose(bias, np.log(present + 0.5) - np.log(absent + 0.5), atol=1e-5)
    else:
        logs = np.log(present + 1 / len(present))
        np.testing.assert_allclose(bias - bias.mean(), logs - logs.mean(), atol=1e-5)


@pytest.mark.parametrize(
    "task",
    long_but(
        ("classification", "token_classification"),
        ("classification", "multi_label", "regression", "token_classification"),
    ),
)
def test_training_starts_from_a_head_that_is_fitted_to_the_encoder_as_it_is(line, tmp_path, trainer_calls, task):
    artifacts = line(task)
    model = run(artifacts, tmp_path / "model", start_head="fitted")
    scoring, rows = TASK_SCORING[task], read_rows(artifacts.examples, "train")
    made, frozen, drawn = (
        read_model(model),
        new_head.attach_fitted_head(
            read_model(model), read_model(artifacts.pretrained).encoder, model.file(FROZEN_HEAD_FILE)
        ),
        read_model(run(artifacts, tmp_path / "drawn", start_head="random")),
    )
    assert scoring.answer(frozen, rows) == scoring.answer(made, rows)
    scores = [scoring.score(rows, scoring.answer(one, rows), list(one.labels)).metrics for one in (made, drawn)]
    metric = scoring.metrics(made.labels)[0]
    assert scores[0][metric] > scores[1][metric]


@pytest.mark.parametrize(
    "task",
    long_but(
        ("token_classification", "question_answering"),
        ("classification", "multi_label", "token_classification", "question_answering"),
    ),
)
def test_a_head_that_answers_the_same_question_is_kept(line, tmp_path, trainer_calls, caplog, task):
    """A checkpoint numbers its labels in an order of its own."""
    artifacts = line(task)
    trained = read_model(artifacts.blank)
    turned = Model(tmp_path / "turned")
    if trained.labels:
        trained.labels = trained.labels[::-1]
        for weight in trained.model.get_layer("classifier").weights:
            weight.assign(weight.numpy()[..., ::-1])
    trained.save(turned.path)
    turned.seal({})
    with caplog.at_level("INFO"):
        made = read_model(run(artifacts, tmp_path / "model", pretrained=turned, keep="last"))
    assert caplog.messages[0] == f"the head of the initial model is kept, which is one for {task}"
    assert trainer_calls
    expected = artifacts.load("blank")
    assert made.labels == expected.labels
    for kept, weight in zip(made.model.weights, expected.model.weights, strict=True):
        np.testing.assert_array_equal(kept.numpy(), weight.numpy())


def test_a_head_for_anything_else_is_new_and_the_log_says_why(line, tmp_path, trainer_calls, caplog):
    artifacts = line("classification")
    other = read_model(artifacts.blank)
    other.labels = ("animal", "mineral")
    other.save(tmp_path / "other")
    Model(tmp_path / "other").seal({})
    for initial, changes, reason in (
        (Model(tmp_path / "other"), {}, r"the labels of the initial model are ['animal', 'mineral'], not"),
        (artifacts.blank, {"new_head": HeadSettings("cls")}, "pooling is 'cls', and 'mean' in the initial model"),
        (line("multi_label").blank, {}, "the initial model is one for multi_label"),
    ):
        caplog.clear()
        # A mean leaves no pooler behind.
        is_refused = pytest.raises(InputError) if changes else contextlib.nullcontext()
        with caplog.at_level("INFO"), is_refused:
            run(artifacts, tmp_path / str(len(reason)), pretrained=initial, **changes)
        assert caplog.messages[0].startswith(f"a new head for classification: {reason}")
    with caplog.at_level("INFO"):
        run(line("regression"), tmp_path / "numbers", pretrained=line("regression").blank)
    assert "numbers may have another unit than those of the initial model" in caplog.text


def test_a_cross_encoder_begins_a_re_ranker_with_its_head(line, tmp_path, trainer_calls):
    artifacts, encoder = line("embedding"), read_model(line("embedding").pretrained)
    initial = TASKS["reranking"].build(encoder.encoder, encoder.tokenizer, max_length=9, activation="sigmoid")
    initial.save(tmp_path / "theirs")
    source = tuning_job.write_rows(tmp_path, "reranking")
    examples = tuning_job.ingest(tmp_path, artifacts.vocabulary, source)
    for kind in ("reranking", "regression"):
        if kind == "regression":
            numbers = TASKS[kind].from_settings(initial.model, initial.tokenizer, {"max_length": 9})
            numbers.save(tmp_path / "theirs")
        theirs = Model(tmp_path / "theirs")
        theirs.seal({})
        made = read_model(run(artifacts, tmp_path / kind, pretrained=theirs, examples=examples))
        expected = "sigmoid" if kind == "reranking" else "none"
        assert (made.name, made.max_length, made.activation) == ("reranking", tuning_job.LENGTH, expected)
        for name in ("kernel", "bias"):
            head, kept = (getattr(task.model.get_layer("regressor"), name).numpy() for task in (initial, made))
            np.testing.assert_array_equal(kept, head)


def test_a_seed_has_a_head_of_its_own(line, tmp_path, trainer_calls):
    made = [
        run(line("regression"), tmp_path / str(n), seed=seed, start_head="random") for n, seed in enumerate((3, 4, 3))
    ]
    prints = [model.fingerprint() for model in made]
    assert prints[0] == prints[2] != prints[1]


def test_answers_are_always_given_where_training_has_one_to_each_question(line, tmp_path, trainer_calls):
    artifacts = line("question_answering")
    examples = tuning_job.ingest(tmp_path, artifacts.vocabulary, tuning_job.write_rows(tmp_path, "question_answering"))
    task = read_model(run(artifacts, tmp_path / "model", examples=examples))
    assert trainer_calls
    assert task.null_threshold is None
    assert task.settings()["stride"] == read_features(examples.path)["settings"]["stride"] == 5
    assert all(TASK_SCORING["question_answering"].answer(task, read_rows(examples, "test")))


@pytest.mark.parametrize("task", tuning_job.TASKS)
def test_equal_texts_stand_in_one_split_where_only_training_is_given(line, tmp_path, task):
    source = tuning_job.write_rows(tmp_path, task, copies=2)
    examples = tuning_job.ingest(tmp_path, line(task).vocabulary, source)
    rows = {split: read_rows(examples, split) for split in ("train", "validation", "test")}
    texts = {
        split: {row.context if task == "question_answering" else row[0] for row in split_rows}
        for split, split_rows in rows.items()
    }
    assert [len(split_rows) for split_rows in rows.values()] == [64, 8, 8]
    assert [len(split_rows) for split_rows in texts.values()] == [32, 4, 4]
    assert len(set.union(*texts.values())) == 40


def test_an_unsuited_encoder_is_refused_before_training(line, tmp_path, trainer_calls):
    tuning_job.write_checkpoint(tmp_path, pooler=False)
    message = "the encoder cannot learn classification from these rows: encoder must have a pooler, got one without"
    bare = Model(tmp_path / "model")
    with pytest.raises(InputError, match=message):
        run(line("classification"), tmp_path / "run", pretrained=bare, new_head=HeadSettings("cls"))
    assert not trainer_calls
    assert read_model(run(line("classification"), tmp_path / "mean", pretrained=bare)).head() == {"pooling": "mean"}
