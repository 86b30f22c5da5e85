"""Pairs, then a head: a classifier like any other, which is right on rows that it never saw."""

import numpy as np
import pytest

from components.artifacts.standard import Model, TaskExamples
from components.examples.registry import read_rows
from components.fine_tune import fine_tune
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from keras_bert.options.tables import FineTuningSettings
from plugins.few_shot.fit_head import fit_head
from plugins.few_shot.pair_examples import pair_examples
from tests.components.tuning_job import SELECTION, TRAINING, table


def score(line, model, split="test"):
    task, rows, scoring = read_model(model), read_rows(line.examples, split), TASK_SCORING[line.task]
    metrics = scoring.score(rows, scoring.answer(task, rows), task.labels).metrics
    return metrics[scoring.metrics(task.labels)[0]]


def fit(line, encoder, folder, **changes):
    model = Model(folder)
    fit_head.run(encoder=encoder, examples=line.examples, model=model, **changes)
    return model


@pytest.fixture(scope="module")
def encoder(line, tmp_path_factory):
    """Trained on pairs of the rows of a classification."""
    folder, rows = tmp_path_factory.mktemp("pairs"), line("classification")
    paired, tuned = TaskExamples(folder / "pairs"), Model(folder / "tuned")
    pair_examples.run(vocabulary=rows.vocabulary, examples=rows.examples, paired=paired, pairs=8)
    settings = table(FineTuningSettings, TRAINING, SELECTION, batch_size=16)
    fine_tune.run(pretrained=rows.pretrained, examples=paired, model=tuned, fine_tuning=settings)
    return tuned


def test_pairs_move_texts_of_a_label_together(line, encoder):
    rows = read_rows(line("classification").examples, "train")
    same = np.equal.outer(*2 * [[row.label for row in rows]])
    gaps = []
    for model in (line("classification").pretrained, encoder):
        vectors = read_model(model).predict([row.text for row in rows])
        cosines = np.corrcoef(vectors)
        gaps.append(cosines[same].mean() - cosines[~same].mean())
    assert gaps[1] > 1.0 > 3 * gaps[0]


def test_the_model_is_a_classifier_like_a_fine_tuned_one(line, encoder, tmp_path):
    rows = line("classification")
    model = fit(rows, encoder, tmp_path / "model")
    task, teacher = read_model(model), rows.load("teacher")
    # So every step after it, and every file, is as it is for a teacher that was fine-tuned at once.
    assert (task.name, task.settings(), task.head()) == (teacher.name, teacher.settings(), teacher.head())
    assert [layer.get_config() for layer in task.model.layers] == [layer.get_config() for layer in teacher.model.layers]
    assert model.counts["parameters"] == rows.teacher.counts["parameters"]
    # All but those of the pooler, which a mean leaves out.
    expected = {weight.path: weight.numpy() for weight in read_model(encoder).encoder.weights}
    for weight in task.encoder.weights:
        np.testing.assert_array_equal(expected[weight.path], weight.numpy())
    assert score(rows, model) > max(0.7, score(rows, fit(rows, rows.pretrained, tmp_path / "frozen")))
    again = fit(rows, encoder, tmp_path / "again")
    assert again.file("task.json").read_bytes() == model.file("task.json").read_bytes()
    for first, second in zip(task.model.weights, read_model(again).model.weights, strict=True):
        np.testing.assert_array_equal(first.numpy(), second.numpy())


def test_class_weights_and_the_penalty_reach_the_head(line, encoder, tmp_path):
    rows = line("classification")
    texts = [row.text for row in read_rows(rows.examples, "train")]
    lopsided = read_model(fit(rows, encoder, tmp_path / "lopsided", class_weights={"animal": 1e6}, l2=100.0))
    assert {answer.label for answer in lopsided.predict(texts)} == {"animal"}
    sizes = [
        np.square(read_model(fit(rows, encoder, tmp_path / str(l2), l2=l2)).model.get_layer("classifier").kernel).sum()
        for l2 in (1.0, 10.0)
    ]
    assert sizes[1] < sizes[0]


@pytest.mark.long
def test_several_labels_have_thresholds(line, tmp_path):
    rows = line("multi_label")
    model = fit(rows, rows.teacher, tmp_path / "model")
    task = read_model(model)
    assert task.name == "multi_label"
    assert task.thresholds != (0.5, 0.5)
    assert score(rows, model, "train") > 0.9
