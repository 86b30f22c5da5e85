import contextlib
import runpy
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import plugins.mlflow
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.retrieval import Retrieval
from pipeline.orchestrator.store import Store
from pipeline.report.record import read_record
from plugins.mlflow.tracker import MetricPoint, summarize_run
from tests.pipeline.provenance.made_up import Jobs
from tests.pipeline.report.made_up import Root, measured, node
from tests.pipeline.table_tasks import make_task


def summarize(root, number):
    with contextlib.closing(Store(root)) as store:
        return summarize_run(read_record(root, number), store)


def test_settings_and_scores_of_a_run(tmp_path):
    jobs = Jobs(tmp_path)
    first, second = jobs.run("a", 0.5), jobs.run("b", 0.75, seeds=3, push=False)
    assert summarize(tmp_path, first).folder == tmp_path / "pushed" / "a-1"
    content = summarize(tmp_path, second)
    assert content.parameters == {"name": "job", "training.seeds": "3"}
    assert content.points == [MetricPoint("teacher/accuracy", 0.75, 0), MetricPoint("teacher/megabytes", 1.5, 0)]
    assert content.folder is None


def test_scores_of_a_task_among_several_have_its_name(tmp_path):
    content = summarize(tmp_path, Jobs(tmp_path).run("a", 0.5, task="mood"))
    assert MetricPoint("mood/teacher/accuracy", 0.5, 0) in content.points


def test_a_pushed_folder_that_is_gone(tmp_path):
    number = Jobs(tmp_path).run("a")
    shutil.rmtree(tmp_path / "pushed")
    assert summarize(tmp_path, number).folder is None


def test_names_are_those_that_mlflow_takes_and_stay_different(tmp_path):
    scores = measured()
    scores["models"]["checkpoint, not trained"] = scores["models"].pop("majority class")
    Root(tmp_path).run(
        node("evaluate", makes={"evaluation": "Evaluation"}, files={"evaluation": {"metrics.json": scores}})
    )
    content = summarize(tmp_path, 1)
    assert MetricPoint("checkpoint_ not trained/accuracy", 0.5, 0) in content.points
    settings = {"weights": {"c#": 1.0, "c+": 2.0, "a/b": 3.0, "a//b": 4.0, "ü": 5.0}}
    with contextlib.closing(Store(tmp_path)) as store:
        run = store.start_run("job", settings)
    names = dict(zip(settings["weights"].values(), summarize(tmp_path, run).parameters, strict=True))
    assert names == {1.0: "weights.c_", 2.0: "weights.c__", 3.0: "weights.a/b", 4.0: "weights.a__b", 5.0: "weights.ü"}


class Table(dict):
    """Stands in for a table of pandas: columns by name."""

    def __init__(self, rows, columns):
        super().__init__(zip(columns, map(list, zip(*rows, strict=True)), strict=True))


class Texts(dict):
    """Stands in for a table of texts."""

    @property
    def columns(self):
        return list(self)

    def __getitem__(self, name):
        texts = super().__getitem__(name)
        return SimpleNamespace(astype=lambda kind: SimpleNamespace(tolist=lambda: [*map(kind, texts)]))


@pytest.fixture
def pushed_model(monkeypatch):
    """The class of the pushed script, where neither MLflow nor pandas is installed."""
    models = SimpleNamespace(set_model=lambda model: None)
    mlflow = SimpleNamespace(pyfunc=SimpleNamespace(PythonModel=object), models=models)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=Table))
    return runpy.run_path(str(Path(plugins.mlflow.__file__).with_name("pyfunc_model.py")))["PushedModel"]()


def answer(pushed_model, monkeypatch, task, **columns):
    monkeypatch.setitem(pushed_model.load_context.__globals__, "load_exported", lambda file: task)
    pushed_model.load_context(SimpleNamespace(artifacts={"file": "model.onnx"}))
    return pushed_model.predict(None, Texts(columns))


def test_a_pushed_model_answers_texts_and_pairs(pushed_model, monkeypatch):
    numbers = {"cow": [3.0, 0.0], "oak": [0.0, 1.0], "hen": [3.0, 4.0]}
    task, texts = make_task(Retrieval, numbers, normalize=False, space="0123456789abcdef"), ["cow", "oak"]
    answers = answer(pushed_model, monkeypatch, task, query=texts, passage=["hen", "hen"], other=["", ""])
    assert answers == {"similarity": pytest.approx([0.6, 0.8])}
    answers = answer(pushed_model, monkeypatch, task, text=texts)
    np.testing.assert_array_equal(answers.pop("vector"), [[3.0, 0.0], [0.0, 1.0]])
    assert answers == {"vector_space": ["0123456789abcdef"] * 2}
    task = make_task(Classification, {"cow": [2, 0], "oak": [0, 2]}, labels=["animal", "plant"])
    answers = answer(pushed_model, monkeypatch, task, text=texts)
    assert answers == {"label": ["animal", "plant"], "probability": pytest.approx([0.8808] * 2, abs=1e-4)}
