"""A job step by step, without one that trains."""

import multiprocessing

import pytest

from components.artifacts.standard import TaskExamples
from components.dsl.errors import InputError
from pipeline.notebook import Job, show
from pipeline.orchestrator.runner import RunFailedError, RunResult
from pipeline.orchestrator.scheduler import StepResult
from tests.tiny_job import write_job


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return write_job(tmp_path_factory.mktemp("job"))


@pytest.mark.long
def test_steps_run_one_by_one_and_are_found_done(settings, capsys):
    job = Job(settings, root=settings.parent / "runs")
    assert job.steps[:3] == ["ingest_corpus", "read_examples", "build_vocabulary"]
    assert job.steps[-1] == "push"
    assert {step.state for step in job.preview(to="ingest_examples")} == {"runs"}
    examples = job.run("ingest_examples")["examples"]
    assert isinstance(examples, TaskExamples)
    assert "Labelled rows, classification" in show(examples).page
    states = {step.step: step.state for step in job.preview(to="fine_tune")}
    assert states["ingest_examples"] == "done"
    assert states["fine_tune"] == "follows"
    capsys.readouterr()
    job.run("ingest_examples")
    assert "[4/4] ingest_examples   cached" in capsys.readouterr().out
    job.run("ingest_examples", force=True)
    assert "cached" not in capsys.readouterr().out.splitlines()[-1]


def test_other_settings_are_another_job(settings):
    with pytest.raises(InputError, match="seeds"):
        Job(settings, overrides=["seeds=0"])
    assert "fine_tune-1" in Job(settings, overrides=["seeds=2"]).steps
    with pytest.raises(InputError, match="--to must name a step of the run, got 'train'"):
        Job(settings, root=settings.parent / "runs").run("train")


def test_a_script_that_runs_a_job_as_it_is_imported(settings, monkeypatch):
    job = Job(settings, root=settings.parent / "scripts")
    # As in the process of a step, which imports the script before it runs the step.
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(InputError, match=r"^a script must run a job below `if __name__ == .__main__.:`"):
        job.run("ingest_examples")
    assert not (settings.parent / "scripts").exists()


def test_bad_data_and_a_step_that_breaks(settings, monkeypatch):
    job = Job(settings, root=settings.parent / "other", overrides=["cleaning.min_words=100000"])
    with pytest.raises(InputError, match="corpus"):
        job.run("ingest_corpus")
    broken = RunResult(1, settings.parent, "failed", (StepResult("ingest_corpus", "failed", 1.0, {}, "it was killed"),))
    monkeypatch.setattr("pipeline.orchestrator.runner.run_pipeline", lambda *_, **__: broken)
    with pytest.raises(RunFailedError, match="it was killed"):
        job.run("ingest_corpus")
