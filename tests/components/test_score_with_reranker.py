"""A re-ranker's scores of a query's passage and negatives, and vectors that learn from them."""

import keras
import numpy as np
import pytest

from components.artifacts.standard import Model, TaskExamples
from components.dsl import step_folders
from components.dsl.errors import InputError
from components.examples.registry import read_rows
from components.fine_tune import fine_tune
from components.score_with_reranker import score_with_reranker
from components.sources.checkpoint import select_files
from components.sources.reranker import Reranker
from components.sources.retrieval import RetrievalSource
from components.training import scored_candidates
from components.training.model_folder import read_model
from components.training.tuning import HeadSettings
from keras_bert.data.task_batches import task_batches
from keras_bert.options.compression import Distillation
from keras_bert.options.tables import FineTuningSettings
from keras_bert.options.training import Contrast, Training
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.reranking import Reranking
from tests.components.tuning_job import SELECTION, eagerly, ingest, table
from tests.hub import hub

__all__ = ["hub"]


@pytest.fixture(scope="module")
def line(line):
    return line("retrieval")


@pytest.fixture(scope="module")
def reranker(line, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reranker")
    base = read_model(line.pretrained)
    keras.utils.set_random_seed(1)
    Reranking.build(base.encoder, base.tokenizer, max_length=16, pooling="mean").save(folder)
    return Reranker(str(folder))


@pytest.fixture(scope="module")
def scored(line, reranker, tmp_path_factory):
    examples = TaskExamples(tmp_path_factory.mktemp("scored") / "examples")
    examples.path.mkdir()
    given = {"reranker": reranker, "vocabulary": line.vocabulary, "examples": line.examples}
    score_with_reranker.run(**given, scored=examples)
    return examples


def test_records_have_the_scores_of_passage_and_negatives(line, reranker, scored):
    task, rows = reranker.load(), read_rows(scored, "train")
    assert [row._replace(teacher=()) for row in rows] == read_rows(line.examples, "train")
    assert all(row.teacher == () for row in read_rows(scored, "test"))
    (batch,) = task_batches(scored.path, "train", len(rows)).epoch()
    queries = [row.query for row in rows]
    passages, negatives = (task.predict(queries, [getattr(row, side)[0] for row in rows]) for side in SIDES)
    np.testing.assert_allclose(batch["teacher_answers"], passages, atol=1e-5)
    np.testing.assert_allclose(batch["negative_scores"], negatives, atol=1e-5)
    assert batch["has_answers"].numpy().all()
    assert scored.counts == {"train": 2 * len(rows), "validation": 2 * len(read_rows(scored, "validation"))}
    (test,) = task_batches(scored.path, "test", 100).epoch()
    assert not test["has_answers"].numpy().any()


SIDES = ("passages", "negatives")


def test_a_model_of_vectors_scores_with_its_similarities(line, tmp_path, monkeypatch):
    monkeypatch.setattr(scored_candidates, "_ROWS", 7)
    reports = []
    monkeypatch.setattr(step_folders, "_sink", lambda *report: reports.append(report))
    scored = TaskExamples(tmp_path / "scored")
    scored.path.mkdir()
    given = {"reranker": Reranker(str(line.pretrained.path)), "vocabulary": line.vocabulary, "examples": line.examples}
    score_with_reranker.run(**given, scored=scored, scale=10.0)
    task, rows = read_model(line.pretrained), read_rows(scored, "train")
    for row in (rows[0], rows[-1]):
        (query,) = task.predict([row.query], prompt="query")
        passages = task.predict([row.passages[0], row.negatives[0]], prompt="passage")
        np.testing.assert_allclose(row.teacher.numbers, 10 * task.compare(query[None], passages)[0], atol=1e-5)
    total = len(rows) + len(read_rows(scored, "validation"))
    reports = [report for report in reports if "scoring" in report[2]]
    assert reports[:2] == [(0, total, "scoring train"), (7, total, "scoring train")]
    assert reports[-1] == (len(rows), total, "scoring validation")


def test_the_file_of_a_pushed_version_scores_as_the_model_does(line, reranker, scored, tmp_path, hub):
    versions, again = tmp_path / "pushed", TaskExamples(tmp_path / "scored")
    folder = versions / "1"
    folder.mkdir(parents=True)
    again.path.mkdir()
    task = reranker.load()
    task.export(folder / "model_float32.tflite")
    task.save_settings(folder)
    pushed = Reranker(str(folder))
    pushed.check_content()
    score_with_reranker.run(reranker=pushed, vocabulary=line.vocabulary, examples=line.examples, scored=again)
    for ours, theirs in zip(read_rows(again, "train"), read_rows(scored, "train"), strict=True):
        np.testing.assert_allclose(ours.teacher.numbers, theirs.teacher.numbers, atol=1e-5)
    hub.add("ann/rank", folder)
    of_hub, pair = Reranker("hf://ann/rank"), (["the cow"], ["the oak"])
    of_hub.check_content()
    assert of_hub.load().predict(*pair) == pushed.load().predict(*pair)
    names = ["task.json", "model.tflite", "index.html", "vocab.txt", "copies/model.tflite"]
    assert select_files(names) == ["task.json", "model.tflite", "vocab.txt"], "as of object storage"
    digest = pushed.fingerprint()
    (folder / "README.md").write_text("a card")
    assert pushed.fingerprint() == digest
    (folder / "model_float32.tflite").write_bytes(b"another file")
    assert pushed.fingerprint() != digest, "the scores of another file are others"
    with pytest.raises(InputError, match=rf"^reranker must be one version .* its newest version is {folder}$"):
        Reranker(str(versions)).check_content()
    (folder / "vocab.txt").unlink()
    with pytest.raises(InputError, match=r"^reranker must hold vocab.txt beside task.json, got none in "):
        pushed.check_content()
    with pytest.raises(InputError, match=r"^reranker must be a folder that exists, got .*missing; hf://OWNER/NAME is"):
        Reranker(str(tmp_path / "missing")).check_content()


def test_vectors_learn_the_margins(line, scored, tmp_path):
    model = Model(tmp_path / "model")
    training = Training(steps=6, batch_size=8, learning_rate=1e-2, xla="off")
    head = HeadSettings(contrast=Contrast(scores="margin_mse"))
    settings = {"fine_tuning": table(FineTuningSettings, training, SELECTION), "new_head": head}
    given = {"pretrained": line.pretrained, "examples": scored, "model": model, **settings}
    with eagerly():
        fine_tune.run(**given, distillation=Distillation(hard_weight=0))
    (batch,) = task_batches(scored.path, "train", 100).epoch()

    def error(task):
        objective, network = task.objective(), task.network()
        outputs = objective.run(network, batch, training=False)
        return float(np.mean(objective.distances(outputs, batch["teacher_answers"], batch, 1.0)))

    trained = read_model(model)
    untrained = type(trained).build(read_model(line.pretrained).encoder, trained.tokenizer, **trained.settings())
    assert error(trained) < 0.7 * error(untrained)


def test_a_classifier_and_rows_without_negatives_are_refused(line, reranker, tmp_path):
    given = {"vocabulary": line.vocabulary, "scored": TaskExamples(tmp_path / "scored")}
    given["scored"].path.mkdir()
    base, classifier = read_model(line.pretrained), Reranker(str(tmp_path / "classifier"))
    Classification.build(base.encoder, base.tokenizer, max_length=16, labels=["a", "b"]).save(classifier.path)
    rule = r"^reranker must be a model that gives one number for a pair, or vectors, got one for class"
    with pytest.raises(InputError, match=rule):
        classifier.check_content()
    with pytest.raises(InputError, match=rule):
        score_with_reranker.run(reranker=classifier, examples=line.examples, **given)
    file = tmp_path / "pairs.csv"
    file.write_text("query,passage\n" + "".join(f"cow {'old ' * place},oak {'the ' * place}\n" for place in range(20)))
    examples = ingest(tmp_path, line.vocabulary, RetrievalSource(str(file)))
    with pytest.raises(
        InputError, match=r"^examples must have negatives to be scored by a re-ranker, got none; set hard_"
    ):
        score_with_reranker.run(reranker=reranker, examples=examples, **given)
