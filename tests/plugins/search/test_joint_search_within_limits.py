"""A search within limits of a job of two tasks: stopped on its way, gone on with, and found done."""

import json

import pytest

import keras_bert
from pipeline.cli import main
from pipeline.orchestrator.runner import run_pipeline
from plugins.search.artifacts import Validation
from tests.components import tuning_job
from tests.plugins.search.test_search_within_limits import executions

pytest.importorskip("plugins.many_tasks", reason="a plug-in has such jobs")
pytestmark = pytest.mark.long

JOB = """
name = "two"
max_length = 16
[checkpoint]
path = "model"
[tasks.kind.examples]
train = "classification.tsv"
[tasks.kind.evaluation]
max_export_loss = 100.0
below_baseline = "warn"
[tasks.price.examples]
task = "regression"
train = "regression.tsv"
[tasks.price.evaluation]
max_export_loss = 100.0
below_baseline = "warn"
[fine_tuning]
steps = 120
batch_size = 8
learning_rate = 1e-2
xla = "off"
validations = 1
[student]
num_layers = 1
[distillation]
steps = 120
learning_rate = 1e-2
batch_size = 8
xla = "off"
[quantization]
recipe = "dynamic_wi8"
post_training = true
calibration_batches = 1
[export]
lengths = []
runtimes = ["tflite"]
"""
# There is no room for the teacher's shape in int8.
MEGABYTES = 0.083
# Of all runs of a pipeline, the one in the midst of which the search is stopped: after the first trial.
STOPPED_AT = 7


def command(folder, megabytes=MEGABYTES):
    limits = ["--max-megabytes", str(megabytes), "--min-share", "0.01", "--minutes", "60"]
    return ["search", str(folder / "two.toml"), "--root", str(folder / "root"), *limits]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A search that was stopped before its last runs, and gone on with."""
    folder, runs = tmp_path_factory.mktemp("search"), []
    tuning_job.write_checkpoint(folder, num_layers=2)
    for kind in ("classification", "regression"):
        tuning_job.write_rows(folder, kind, count=160)
    (folder / "two.toml").write_text(JOB)

    def stopped(pipeline, *given, **further):
        runs.append(pipeline.name)
        if len(runs) == STOPPED_AT:
            raise KeyboardInterrupt
        return run_pipeline(pipeline, *given, **further)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugins.search.runs.run_pipeline", stopped)
        assert main(command(folder)) == 130
    assert main(command(folder)) == 0
    return folder


@pytest.fixture(scope="module")
def content(job):
    return json.loads((job / "root/searched/two-student/search.json").read_text())


def test_candidates_are_compared_by_the_mean_of_the_tasks(job, content):
    assert content["metric"] == "mean of kind accuracy and price spearman"
    assert len(content["rounds"][0]["scores"]) > 1
    last = content["rounds"][-1]["scores"]
    assert last[content["winner"]] == max(last.values())
    for number, one in enumerate(content["rounds"], start=1):
        for name, score in one["scores"].items():
            assert content["rungs"][name]["megabytes"] <= MEGABYTES
            (artifact,) = (job / "root/artifacts" / f"validate-{name}-{number}").iterdir()
            scores = Validation(artifact).manifest()["counts"]
            assert score == pytest.approx((scores["kind accuracy"] + scores["price spearman"]) / 2)
    teacher = content["rungs"]["teacher"]["score"]["mean"]
    winner = content["rungs"][content["winner"]]
    assert winner["share"] == pytest.approx(winner["score"]["mean"] / teacher)


def test_the_pushed_file_is_within_the_limit_and_answers_each_task(job, content):
    pushed = job / "root/pushed/two/1"
    assert content["pushed"] == str(pushed)
    size = (pushed / "model.tflite").stat().st_size
    assert size <= 1e6 * content["rungs"][content["winner"]]["megabytes"] <= 1e6 * MEGABYTES
    (answer,) = keras_bert.load(pushed).predict(["cow hen owl fox"])
    assert answer["kind"].label in ("animal", "plant")
    assert 3000 < answer["price"] < 7000
    assert {"teacher", "student"} <= content["test"]["tasks"]["price"]["models"].keys()
    # What was measured before any training is the size of the trained file.
    (measured,) = (job / "root/artifacts" / f"measure_footprint-{content['winner']}").glob("*/latency.json")
    (trained,) = (job / "root/artifacts/measure_latency").glob("*/latency.json")
    sizes = [json.loads(file.read_text())["model.tflite"]["bytes"] for file in (measured, trained)]
    assert sizes[0] == pytest.approx(sizes[1], abs=200)


def test_the_same_search_repeats_nothing(job, content):
    made = [execution[:2] for execution in executions(job) if execution[2] == "ran"]
    assert len(made) == len(set(made)), "no step has run twice"
    before = len(executions(job))
    assert main(command(job)) == 0
    assert {state for _, _, state in executions(job)[: len(executions(job)) - before]} == {"cached"}
    assert json.loads((job / "root/searched/two-student/search.json").read_text()) == content


def test_a_limit_that_no_file_meets_is_refused(job, capsys):
    assert main(command(job, 0.02)) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "--max-megabytes 0.02 cannot be met: the smallest file, l1-h1-f8-r2-" in said
