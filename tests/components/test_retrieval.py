"""Retrieval goes through every step: rows, teacher, student, int8, files, scores, and a push."""

import dataclasses
import json

import numpy as np
import pytest

from components.artifacts.evaluation import Blessing, Evaluation
from components.artifacts.measurements import Validation
from components.artifacts.models import Model
from components.artifacts.pushed import Pushed
from components.evaluate import evaluate
from components.examples.registry import read_rows
from components.fine_tune import fine_tune
from components.push import push
from components.scoring.blessing import Thresholds
from components.scoring.registry import TASK_SCORING
from components.scoring.retrieval import BM25
from components.training.model_folder import read_model
from components.validate import validate
from keras_bert.data.task_batches import task_batches
from keras_bert.export.bundle import load
from keras_bert.metrics.retrieval import METRICS
from keras_bert.options.contrast import Contrast
from tests.components.tuning_job import SELECTION, TRAINING, Line, write_checkpoint


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    folder = tmp_path_factory.mktemp("retrieval")
    write_checkpoint(folder)
    return Line("retrieval", folder, folder)


@pytest.fixture(scope="module")
def pushed(line, tmp_path_factory):
    """The folder of the pushed version, and the evaluation."""
    folder = tmp_path_factory.mktemp("evaluated")
    evaluation, blessing, version = Evaluation(folder / "e"), Blessing(folder / "b"), Pushed(folder / "p")
    models = {"teachers": [line.teacher], "students": [line.student], "edges": [line.edge]}
    thresholds = Thresholds(max_export_loss=50.0)
    evaluate.run(examples=line.examples, **models, evaluation=evaluation, blessing=blessing, thresholds=thresholds)
    given = {"examples": line.examples, "evaluation": evaluation, "blessing": blessing}
    push.run(**given, edges=[line.edge], pushed=version, folder=str(folder / "pushed"), name="find")
    return folder / "pushed" / "1", evaluation


def test_records_hold_queries_passages_and_negatives(line):
    rows = read_rows(line.examples, "train")
    (batch,) = task_batches(line.examples.path, "train", len(rows)).epoch()
    tokenizer = line.load("teacher").tokenizer
    for name, texts in {
        "": [row.query for row in rows],
        "second_": [row.passages[0] for row in rows],
        "negative_": [row.negatives[0] for row in rows],
    }.items():
        expected = tokenizer.encode(texts, max_length=16)
        for feature in ("token_ids", "segment_ids", "padding_mask"):
            np.testing.assert_array_equal(batch[name + feature], expected[feature])
    assert batch["negative_row"].numpy().tolist() == list(range(len(rows)))


def test_the_teacher_learns_what_no_word_tells(line):
    rows, scoring = read_rows(line.examples, "test"), TASK_SCORING["retrieval"]
    untrained = scoring.score(rows, scoring.answer(read_model(line.pretrained), rows), [])
    assert line.score("teacher", "test") > 0.8 > untrained.metrics["ndcg_at_10"]
    # All queries find their negative first, which has their words.
    assert untrained.metrics["recall_at_1"] == 0.0
    words = scoring.score(rows, scoring.baselines(rows, rows, rows)[BM25](), [])
    assert words.metrics["recall_at_1"] == 0.0


def test_the_table_has_the_scores_of_each_model_and_of_bm25(pushed):
    metrics = pushed[1].read()
    assert list(metrics.models) == ["BM25", "teacher", "student", "tflite float32", "tflite int8", "onnx float32"]
    for model in metrics.models.values():
        assert list(model.metrics) == list(METRICS)
    assert metrics.metric == "ndcg_at_10"
    assert metrics.models["tflite int8"].metrics["ndcg_at_10"].mean > metrics.models["BM25"].metrics["ndcg_at_10"].mean


def test_a_pushed_folder_answers_and_has_a_card_and_a_page(pushed, line):
    folder, _ = pushed
    task = load(folder)
    row = read_rows(line.examples, "test")[0]
    (similar,), (other,) = (
        next(iter(task.answer_values([row.query], [text]))) for text in (row.passages[0], row.negatives[0])
    )
    assert similar > other
    card = (folder / "README.md").read_text()
    assert "A BERT that makes vectors of queries and passages." in card
    assert "| ndcg at 10 |" in card or "| ndcg_at_10 |" in card
    assert '"task": "retrieval"' in (folder / "index.html").read_text()
    assert json.loads((folder / "task.json").read_text())["task"] == "retrieval"


def test_validate_scores_the_file(line, tmp_path):
    validation = Validation(tmp_path / "v")
    validate.run(examples=line.examples, validation=validation, edge=line.edge, metric="mrr_at_10")
    assert 0 < validation.read().score <= 1


def test_settings_of_the_loss_go_with_the_model(line, tmp_path):
    contrast = Contrast(loss="triplet", margin=0.3, dimensions=(8,))
    training, model = dataclasses.replace(TRAINING, steps=2), Model(tmp_path / "triplets")
    given = {"pretrained": line.pretrained, "examples": line.examples, "contrast": contrast}
    fine_tune.run(**given, model=model, training=training, selection=SELECTION)
    task = read_model(model)
    assert task.contrast == contrast
    assert task.objective().contrast == contrast
    assert task.truncated(8).predict(["cow"]).shape == (1, 8)
    np.testing.assert_allclose(task.truncated(8).predict(["cow"]), task.predict(["cow"])[:, :8], atol=1e-6)
