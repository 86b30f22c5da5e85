import contextlib
import shutil

from pipeline.orchestrator.store import Store
from pipeline.report.record import read_record
from plugins.mlflow.tracker import MetricPoint, summarize_run
from tests.pipeline.provenance.made_up import Jobs
from tests.pipeline.report.made_up import Root, measured, node


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
