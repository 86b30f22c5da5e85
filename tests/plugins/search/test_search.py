"""A job through the command line as a search for settings: killed on its way, gone on with, and its winner run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from pipeline.cli import main
from pipeline.job.files import load_settings
from pipeline.orchestrator.observer import Observer, StoppedRunError
from pipeline.orchestrator.runner import run_pipeline
from pipeline.orchestrator.store import Store
from plugins.search.steps import search_pipeline, wire_trial
from plugins.search.trial import TrialObserver
from tests.components import tuning_job

pytestmark = pytest.mark.search

JOB = """
name = "tuned"
max_length = 16
[checkpoint]
path = "model"
[examples]
train = "classification.tsv"
[fine_tuning]
steps = 30
batch_size = 8
learning_rate = 1e-2
xla = "off"
precision = "float32"
validations = 2
[student]
num_layers = 2
[distillation]
steps = 12
learning_rate = 5e-3
batch_size = 8
xla = "off"
precision = "float32"
[quantization]
post_training = true
calibration_batches = 1
[export]
lengths = []
runtimes = ["tflite"]
[evaluation]
max_export_loss = 100.0
below_baseline = "warn"
[search]
finalists = 1
[search.fine_tuning]
learning_rate = [1e-3, 3e-2]
[search.distillation]
learning_rate = [1e-3, 3e-2]
"""
SPACE = ["fine_tuning.learning_rate", "pooling", "distillation.learning_rate", "student.num_layers"]


def command(folder, *more):
    budget = ["--trials", "2", "--seeds", "2", "--minutes", "60"]
    return [
        "search",
        str(folder / "tuned.toml"),
        "--root",
        str(folder / "root"),
        *budget,
        *(part for name in SPACE for part in ("--space", name)),
        *more,
    ]


def executions(folder):
    """Component, key and state of all steps of all runs."""
    store = Store(folder / "root", create=False)
    try:
        return [(one.component, one.key, one.state) for run in store.runs() for one in store.executions(run.id)]
    finally:
        store.close()


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A search that was killed in the midst of its second training, and gone on with."""
    folder = tmp_path_factory.mktemp("search")
    # A checkpoint without a pooler: one of the two poolings cannot be trained.
    tuning_job.write_checkpoint(folder, num_layers=2, pooler=False)
    tuning_job.write_rows(folder, "classification", count=80)
    (folder / "tuned.toml").write_text(JOB)
    program = [sys.executable, "-m", "pipeline", *command(folder)]
    process = subprocess.Popen(program, start_new_session=True, stdout=subprocess.DEVNULL, env=os.environ)
    deadline = time.monotonic() + 300
    while not list((folder / "root/logs").glob("*/fine_tune/seed-*/history.jsonl")) or len(trained(folder)) < 1:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert main(command(folder)) == 0
    return folder


def trained(folder):
    return list((folder / "root/artifacts/fine_tune").glob("*"))


@pytest.fixture(scope="module")
def content(job):
    return json.loads((job / "root/searched/tuned/search.json").read_text())


def test_both_models_were_searched_and_nothing_ran_twice(job, content):
    for stage in content["stages"].values():
        assert len(stage["trials"]) == 2
        assert len({json.dumps(trial["values"]) for trial in stage["trials"]}) == 2
        assert set(stage["finalists"]) >= {"job"}
        assert all(len(one["score"]["seeds"]) == 2 for one in stage["finalists"].values())
    made = [execution[:2] for execution in executions(job) if execution[2] == "ran"]
    assert len(made) == len(set(made))
    assert not {"evaluate", "push", "export_model"} & {component for component, _ in made}, "no test row was scored"


def test_the_same_command_finds_everything_done(job, content):
    before = len([one for one in executions(job) if one[2] == "ran"])
    assert main(command(job)) == 0
    assert len([one for one in executions(job) if one[2] == "ran"]) == before
    assert json.loads((job / "root/searched/tuned/search.json").read_text()) == content


def test_the_winner_is_a_job_whose_trainings_are_done(job, content):
    winner = job / "elsewhere" / "winner.toml"
    winner.parent.mkdir()
    shutil.copy(job / "root/searched/tuned/winner.toml", winner)
    assert "[search" not in winner.read_text()
    trainings = {"fine_tune", "distill", "quantize"}
    before = [one[0] for one in executions(job) if one[2] == "ran"]
    assert main(["run", str(winner), "--root", str(job / "root")]) == 0
    after = [one[0] for one in executions(job) if one[2] == "ran"]
    assert sorted(set(after) - set(before)) == ["evaluate", "export_model", "push"]
    assert [name for name in after if name in trainings] == [name for name in before if name in trainings]


def test_a_training_is_ended_after_one_of_its_validations(tmp_path):
    tuning_job.write_checkpoint(tmp_path, num_layers=2)
    tuning_job.write_rows(tmp_path, "classification", count=80)
    (tmp_path / "tuned.toml").write_text(JOB)
    overrides = ["fine_tuning.steps=20000", "fine_tuning.validations=200"]
    settings, root, seen = load_settings(tmp_path / "tuned.toml", overrides), tmp_path / "root", []

    def end_at_once(validations):
        seen[:] = validations
        if validations:
            raise StoppedRunError

    observer = TrialObserver(Observer(), "fine_tune", end_at_once)
    pipeline = search_pipeline(settings, [wire_trial(settings, 0, ()).validation])
    with pytest.raises(StoppedRunError):
        run_pipeline(pipeline, root, observer=observer)
    assert 0 < len(seen) < 200
    assert all(0 <= value <= 1 for value in seen), "accuracies"
    assert not (root / "artifacts/fine_tune").exists()
    assert not list((root / ".unfinished").glob("*"))


def test_tables_show_the_best_few_and_each_setting(job, content):
    table = (job / "root/searched/tuned/search.md").read_text()
    for name in SPACE:
        assert f"| {name} |" in table
    assert "the job's own settings" in table
    assert "no shares of variance: they need 20 whole trials" in table
