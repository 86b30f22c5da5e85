"""A run of a tiny job in a store of MLflow's own; needs the packages of requirements/mlflow.lock."""

import os
import subprocess
import sys

import pytest

from components.dsl.errors import InputError
from pipeline.cli import main
from plugins.mlflow.tracker import send
from tests.components import tuning_job
from tests.pipeline.command_line import said
from tests.pipeline.provenance.made_up import Jobs

JOB = """
name = "tags"
max_length = 16
quantization.post_training = true
[checkpoint]
path = "model"
[examples]
train = "classification.tsv"
[fine_tuning]
steps = 30
batch_size = 8
learning_rate = 1e-2
xla = "off"
validations = 2
[evaluation]
max_export_loss = 50.0
below_baseline = "warn"
[export]
lengths = [16]
runtimes = ["tflite"]
"""


def test_without_mlflow_one_line_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    number = Jobs(tmp_path).run("a")
    with pytest.raises(
        InputError, match=r"^--track mlflow needs MLflow, which is not installed: pip install 'mlflow-skinny>="
    ):
        send(tmp_path, number, "sqlite:///nowhere.db")


@pytest.mark.parametrize(("given", "expected"), [(None, "true"), ("false", "false")])
def test_mlflow_reports_its_use_only_if_the_user_says_so(given, expected, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", given or "")
    if given is None:
        monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY")
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(InputError):
        send(tmp_path, 1, "sqlite:///nowhere.db")
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == expected


def test_a_root_that_no_filter_of_mlflow_can_name(tmp_path):
    with pytest.raises(InputError, match=r"^--root must not have both quotes in its path to be sent to MLflow, got "):
        send(tmp_path / 'ada\'s "job"', 1, "sqlite:///nowhere.db")


@pytest.mark.mlflow
def test_a_run_with_its_model(tmp_path, capsys, monkeypatch):
    import mlflow

    # A root's path is part of a filter of MLflow's.
    home = tmp_path / "ada's"
    home.mkdir()
    monkeypatch.chdir(home)
    tuning_job.write_checkpoint(home)
    tuning_job.write_rows(home, "classification", count=80)
    (home / "job.toml").write_text(JOB)
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    assert main(["run", "job.toml"]) == 0
    assert f"sent to {uri}" in said(capsys, "report", "--track", "mlflow", uri)
    client = mlflow.MlflowClient(tracking_uri=uri)
    (run,) = client.search_runs([client.get_experiment_by_name("tags").experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["fine_tuning.steps"] == "30"
    assert 0 < run.data.metrics["tflite int8/accuracy"] <= 1
    assert len(client.get_metric_history(run.info.run_id, "fine_tune/validation/loss")) == 2
    assert [file.path for file in client.list_artifacts(run.info.run_id)] == ["report.html"]
    assert "is there already" in said(capsys, "report", "--track", "mlflow", uri)
    # As a user of the model would, in a process that knows nothing of the pipeline.
    (model,) = client.search_logged_models([run.info.experiment_id])
    script = (
        "import sys, mlflow, pandas as pd\n"
        "mlflow.set_tracking_uri(sys.argv[1])\n"
        "answers = mlflow.pyfunc.load_model(sys.argv[2]).predict(pd.DataFrame({'text': ['the sea', 'a farm']}))\n"
        "print(list(answers.columns), len(answers))\n"
    )
    command = [sys.executable, "-c", script, uri, model.model_uri]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout
    assert printed == "['label', 'probability'] 2\n"
