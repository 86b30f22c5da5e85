"""Retrieval goes through every step: rows, teacher, student, int8, files, scores, and a push."""

import base64
import json
import re

import numpy as np
import pytest

from components.artifacts.evaluation import Blessing, Evaluation
from components.artifacts.pushed import Pushed
from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.errors import InputError
from components.evaluate import evaluate
from components.examples.registry import read_rows
from components.examples.retrieval import SplitCorpus
from components.export_model import export_model
from components.fine_tune import fine_tune
from components.mine_hard_negatives import mine_hard_negatives
from components.push import push
from components.scoring.blessing import UNTRAINED, Thresholds
from components.scoring.registry import TASK_SCORING
from components.scoring.retrieval import BM25
from components.sources.search_texts import SearchTexts
from components.sources.shared import SPLITS
from components.training.model_folder import read_model
from components.training.tuning import HeadSettings
from keras_bert.core.vector_codes import int8_codes
from keras_bert.data.task_batches import task_batches
from keras_bert.export.bundle import load, load_exported
from keras_bert.metrics.retrieval import METRICS
from keras_bert.options.data import Prompts
from keras_bert.options.export import Export
from keras_bert.options.fine_tuning import HardNegatives
from keras_bert.options.tables import FineTuningSettings
from keras_bert.options.training import Contrast
from keras_bert.tasks.retrieval import Retrieval
from tests.components.labelled_rows import ingest_source
from tests.components.tuning_job import SELECTION, TRAINING, eagerly, table, write_rows


@pytest.fixture(scope="module")
def line(line):
    return line("retrieval")


@pytest.fixture(scope="module")
def pushed(line, tmp_path_factory):
    """The folder of the pushed version, and the evaluation."""
    folder = tmp_path_factory.mktemp("evaluated")
    evaluation, blessing, version = Evaluation(folder / "e"), Blessing(folder / "b"), Pushed(folder / "p")
    models = {"teachers": [line.teacher], "students": [line.student], "edges": [line.edge]}
    thresholds = Thresholds(max_export_loss=50.0)
    models |= {"checkpoint": line.pretrained}
    evaluate.run(examples=line.examples, **models, evaluation=evaluation, blessing=blessing, thresholds=thresholds)
    given = {"examples": line.examples, "evaluation": evaluation, "blessing": blessing}
    push.run(**given, edges=[line.edge], pushed=version, folder=str(folder / "pushed"), name="find", page=SearchTexts())
    return folder / "pushed" / "1", evaluation


def test_records_hold_queries_passages_and_negatives(line):
    rows = read_rows(line.examples, "train")
    (batch,) = task_batches(line.examples.path, "train", len(rows)).epoch()
    tokenizer = line.load("pretrained").tokenizer
    for name, texts in {
        "": [row.query for row in rows],
        "second_": [row.passages[0] for row in rows],
        "negative_": [row.negatives[0] for row in rows],
    }.items():
        expected = tokenizer.encode(texts, max_length=16)
        for feature in ("token_ids", "segment_ids", "padding_mask"):
            values = batch[name + feature].numpy()
            np.testing.assert_array_equal(values, expected[feature][:, : values.shape[1]])
            assert not np.any(expected[feature][:, values.shape[1] :])
    assert batch["negative_row"].numpy().tolist() == list(range(len(rows)))


@pytest.mark.long
def test_the_teacher_learns_what_no_word_tells(line):
    rows, scoring = read_rows(line.examples, "test"), TASK_SCORING["retrieval"]
    untrained = scoring.score(rows, scoring.answer(read_model(line.pretrained), rows), [])
    assert line.score("teacher", "test") > 0.8 > untrained.metrics["ndcg_at_10"]
    # All queries find their negative first, which has their words.
    assert untrained.metrics["recall_at_1"] == 0.0
    words = scoring.score(rows, scoring.baselines(rows, rows, rows)[BM25](), [])
    assert words.metrics["recall_at_1"] == 0.0


@pytest.mark.long
def test_the_table_has_the_scores_of_each_model_of_bm25_and_of_the_checkpoint_as_it_was(pushed, line):
    metrics = pushed[1].read()
    codes = ["tflite int8, int8 vectors", "tflite int8, binary vectors", "tflite int8, binary vectors, rescored"]
    files = ["tflite float32", "tflite int8", *codes, "onnx float32"]
    assert list(metrics.models) == ["random order", "BM25", UNTRAINED, "teacher", "student", *files]
    for model in metrics.models.values():
        assert list(model.metrics) == list(METRICS)
    assert metrics.metric == "ndcg_at_10"
    assert metrics.models["tflite int8"].metrics["ndcg_at_10"].mean > metrics.models["BM25"].metrics["ndcg_at_10"].mean
    rows, scoring = read_rows(line.examples, "test"), TASK_SCORING["retrieval"]
    expected = scoring.score(rows, scoring.answer(read_model(line.pretrained), rows), []).metrics
    assert {name: score.mean for name, score in metrics.models[UNTRAINED].metrics.items()} == expected


@pytest.mark.long
def test_a_pushed_folder_answers_with_vectors_of_length_1_and_has_a_card_and_a_page(pushed, line):
    folder, _ = pushed
    for name in (None, "model.onnx"):
        task = load(folder) if name is None else load_exported(folder, name)
        np.testing.assert_allclose(np.linalg.norm(task.predict(["a b", "c"]), axis=1), 1.0, atol=1e-5)
        assert task.normalize
    task, settings = load(folder), json.loads((folder / "task.json").read_text())
    assert (settings["task"], settings["normalize"]) == ("retrieval", True)
    row = read_rows(line.examples, "test")[0]
    (similar,), (other,) = (
        next(iter(task.answer_values([row.query], [text]))) for text in (row.passages[0], row.negatives[0])
    )
    assert similar > other
    card = (folder / "README.md").read_text()
    assert "A BERT that makes vectors of queries and passages." in card
    assert "Vectors have length 1: inner products are cosines" in card
    assert "| ndcg at 10 |" in card or "| ndcg_at_10 |" in card
    assert '"task": "retrieval"' in (folder / "index.html").read_text()


def test_hard_negatives_are_mined_for_training_rows_alone(line, tmp_path):
    mined = TaskExamples(tmp_path / "mined")
    options = HardNegatives(count=2, margin=0.0)
    mine_hard_negatives.run(model=line.pretrained, examples=line.examples, mined=mined, hard_negatives=options)
    before, after = ({split: read_rows(rows, split) for split in SPLITS} for rows in (line.examples, mined))
    assert (after["validation"], after["test"]) == (before["validation"], before["test"])
    # A push copies the schema of the rows that it gets, which are these.
    assert mined.read_json("schema.json") == line.examples.read_json("schema.json")
    assert mined.counts["mined"] == sum(len(row.negatives) - 1 for row in after["train"]) > 0
    for row, other in zip(after["train"], before["train"], strict=True):
        assert row[:2] == other[:2]
        assert row.negatives[:1] == other.negatives
        assert not {*row.negatives[1:]} & {*row.passages}
    (batch,) = task_batches(mined.path, "train", len(after["train"])).epoch()
    assert len(batch["negative_row"]) == mined.counts["mined"] + len(before["train"])
    # A model learns from them, and the same rows are mined again byte for byte.
    model = Model(tmp_path / "model")
    settings = table(FineTuningSettings, TRAINING, SELECTION, steps=2)
    with eagerly():
        fine_tune.run(pretrained=line.pretrained, examples=mined, model=model, fine_tuning=settings)
    again = TaskExamples(tmp_path / "again")
    mine_hard_negatives.run(model=line.pretrained, examples=line.examples, mined=again, hard_negatives=options)
    for name in ("train.tfrecord", "train.jsonl.gz", "features.json"):
        assert mined.file(name).read_bytes() == again.file(name).read_bytes()


def test_mined_rows_have_the_prompts_of_the_rows_not_of_the_model(line, tmp_path):
    start, (examples, mined) = Model(tmp_path / "start"), (TaskExamples(tmp_path / name) for name in ("rows", "mined"))
    source, prompts = write_rows(tmp_path, "retrieval", count=20), Prompts(query="one ", passage="old ")
    ingest_source(examples, line.vocabulary, source, max_length=16, prompts=prompts)
    base = read_model(line.pretrained)
    Retrieval.build(base.encoder, base.tokenizer, max_length=16, prompts={"query": "near "}).save(start.path)
    start.seal({})
    options = HardNegatives(count=1, margin=0.0)
    mine_hard_negatives.run(model=start, examples=examples, mined=mined, hard_negatives=options)
    assert mined.counts["mined"] > 0
    (before,), (after,) = (task_batches(rows.path, "train", 20).epoch() for rows in (examples, mined))
    for name in ("token_ids", "second_token_ids"):
        np.testing.assert_array_equal(after[name], before[name])


def truncate(vectors):
    """The first 8 numbers, at length 1."""
    return vectors[:, :8] / np.linalg.norm(vectors[:, :8], axis=1, keepdims=True)


def test_settings_of_the_loss_go_with_the_model(line, tmp_path):
    contrast = Contrast(loss="triplet", margin=0.3, dimensions=(8,))
    settings, model = table(FineTuningSettings, TRAINING, SELECTION, steps=2), Model(tmp_path / "triplets")
    given = {"pretrained": line.pretrained, "examples": line.examples, "new_head": HeadSettings(contrast=contrast)}
    with eagerly():
        fine_tune.run(**given, model=model, fine_tuning=settings)
    task = read_model(model)
    assert task.contrast == contrast
    assert task.objective().contrast == contrast
    assert task.truncated(8).predict(["cow"]).shape == (1, 8)
    np.testing.assert_allclose(task.truncated(8).predict(["cow"]), truncate(task.predict(["cow"])), atol=1e-6)


@pytest.mark.long
def test_files_of_truncated_vectors(line, tmp_path):
    edge = EdgeModel(tmp_path / "edge")
    export = Export(lengths=(8,), dimension=8, runtimes=("tflite", "onnx", "mediapipe"))
    export_model.run(model=line.quantized, examples=line.examples, edge=edge, export=export)
    for name in ("model.tflite", "model_float32.tflite", "model.onnx"):
        task = load_exported(edge.path, name)
        vectors = task.predict(["cow hen", "oak"])
        assert vectors.shape == (2, 8)
        if name == "model.onnx":
            expected = truncate(line.load("quantized").predict(["cow hen", "oak"]))
            np.testing.assert_allclose(vectors, expected, atol=1e-4)
    wide = {"edge": EdgeModel(tmp_path / "wide"), "export": Export(dimension=17)}
    with pytest.raises(InputError, match=r"^export\.dimension must be from 1 to 15, got 17$"):
        export_model.run(model=line.quantized, examples=line.examples, **wide)


@pytest.mark.long
def test_the_page_searches_the_passages_of_all_splits(line, pushed):
    page = (pushed[0] / "index.html").read_text(encoding="utf-8")
    texts, codes = (re.search(rf'id="{name}">(.*?)</script>', page)[1] for name in ("texts", "codes"))
    rows = [row for split in SPLITS for row in read_rows(line.examples, split)]
    assert json.loads(texts) == SplitCorpus.of(rows).passages
    vectors = np.frombuffer(base64.b64decode(codes), "int8").reshape(len(json.loads(texts)), -1)
    expected = int8_codes(load_exported(pushed[0]).predict(json.loads(texts), prompt="passage"))
    np.testing.assert_array_equal(vectors, expected)
