"""`run` on the command line: what it says after the steps, which are made up."""

import json

import pytest

from components.artifacts.evaluation import Blessing, Decision
from components.artifacts.pushed import PUSHED_FILE, Pushed
from components.artifacts.standard import EdgeModel
from pipeline.cli import main
from pipeline.orchestrator.runner import RunResult, StepResult
from tests.tiny_job import write_job

NOT_COMPARED = "not compared: the version before, tiny/1, cannot be opened: damaged"


@pytest.fixture
def edge(tmp_path):
    artifact = EdgeModel(tmp_path / "edge")
    artifact.path.mkdir()
    return artifact


def run(monkeypatch, capfd, folder, *edges, missed=()):
    """What a finished run says on standard error, with these exports, and limits that are missed."""
    blessing, pushed = Blessing(folder / "blessing"), Pushed(folder / "push")
    for artifact in (blessing, pushed):
        artifact.path.mkdir()
    blessing.write(Decision(True, ["yes: tflite int8 accuracy 90.00 must be at least 0.00", *missed, NOT_COMPARED]))
    pushed.write_json(PUSHED_FILE, {"path": str(folder), "version": 1, "files": {}})
    outputs = [*edges, blessing, pushed]
    steps = [StepResult(f"step-{number}", "ran", 1.0, {"out": output}) for number, output in enumerate(outputs)]

    def run_pipeline(*_, **__):
        return RunResult(1, folder, "done", tuple(steps))

    monkeypatch.setattr("pipeline.orchestrator.runner.run_pipeline", run_pipeline)
    capfd.readouterr()
    assert main(["run", str(write_job(folder / "job")), "--root", str(folder / "root")]) == 0
    return capfd.readouterr().err.splitlines()


def test_a_version_that_could_not_be_compared_is_a_warning(tmp_path, monkeypatch, capfd):
    assert run(monkeypatch, capfd, tmp_path) == [f"warning: {NOT_COMPARED}"]


def test_a_limit_that_is_missed_by_a_task_that_is_not_required_is_a_warning(tmp_path, monkeypatch, capfd):
    assert run(monkeypatch, capfd, tmp_path, missed=["NO: accuracy 1.00 must be at least 2.00"]) == [
        f"warning: {NOT_COMPARED}",
        f"warning: {tmp_path.name}, which is not required: accuracy 1.00 must be at least 2.00",
    ]


@pytest.mark.parametrize(("share", "is_said"), [(0.0625, True), (0.0, False), (None, False)])
def test_other_ids_in_mediapipe_are_a_warning_of_the_run(tmp_path, edge, monkeypatch, capfd, share, is_said):
    records = {} if share is None else {"model_mediapipe.tflite": {"texts_with_other_ids": share}}
    edge.file("export.json").write_text(json.dumps(records))
    message = (
        "warning: MediaPipe makes other token ids of 6.2 % of validation texts than the training did, as it keeps "
        "accents; see docs/guides/phones.md"
    )
    seeds = (edge, edge)
    assert run(monkeypatch, capfd, tmp_path, *seeds) == [*([message] if is_said else []), f"warning: {NOT_COMPARED}"]
