"""The whole pipeline on a tiny job, through the command line, each step in its own process."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from components.artifacts.model import Model
from pipeline.cli import main
from pipeline.orchestrator.store import Store
from tests.tiny_job import write_job

STEPS = (
    "ingest_corpus build_vocabulary mask_examples ingest_examples pretrain fine_tune distill quantize export_model "
    "evaluate push"
).split()


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny job, run once."""
    folder = tmp_path_factory.mktemp("job")
    write_job(folder)
    assert run(folder) == 0
    return folder


def run(folder: Path, *more: str) -> int:
    return main(["run", str(folder / "tiny.toml"), "--root", str(folder / "root"), *more])


def states(folder: Path) -> dict[str, str]:
    """Step -> how it ended, in the newest run."""
    store = Store(folder / "root", create=False)
    try:
        return {step.node: step.state for step in store.executions(store.runs()[0].id)}
    finally:
        store.close()


def metrics(folder: Path, version: int = 1) -> dict:
    return json.loads((folder / "root" / "pushed" / "tiny" / str(version) / "metrics.json").read_text())


def test_every_step_runs_and_the_models_learn(job: Path) -> None:
    models = metrics(job)["models"]
    assert set(models) >= {"majority class", "bag of words", "teacher", "student", "tflite int8", "onnx float32"}
    for name in ("teacher", "student", "tflite int8", "onnx float32"):
        row = models[name]
        assert row["accuracy"] > models["majority class"]["accuracy"] + 0.2
        assert np.sum(row["confusion"]) == metrics(job)["test_rows"]
        assert row["milliseconds"] > 0
    assert models["tflite int8"]["megabytes"] < models["tflite float32"]["megabytes"]


def test_the_pushed_folder_is_complete(job: Path) -> None:
    version = job / "root" / "pushed" / "tiny" / "1"
    names = (
        "model.tflite model.onnx vocab.txt tokenizer.json labels.json metrics.json recipe.json origin.json README.md"
    )
    assert {file.name for file in version.iterdir()} == set(names.split())
    assert json.loads((version / "labels.json").read_text()) == ["farm", "sea"]
    assert "| tflite int8 |" in (version / "README.md").read_text()


def test_predict_answers_from_the_pushed_file(job: Path, capfd: pytest.CaptureFixture[str]) -> None:
    texts = ["the ship stood near the harbour until the tide came back .", "a cow is worth more than a fence"]
    assert main(["predict", str(job / "root" / "pushed" / "tiny" / "1"), *texts]) == 0
    printed = capfd.readouterr()
    assert printed.err == ""
    lines = [line.split("\t") for line in printed.out.splitlines()]
    assert [(label, text) for label, _, text in lines] == [("sea", texts[0]), ("farm", texts[1])]
    assert all(0.5 < float(score) <= 1 for _, score, _ in lines)


def test_status_shows_runs_and_artifacts(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--root", str(job / "root")]) == 0
    printed = capsys.readouterr().out
    assert "tiny" in printed
    assert "EdgeModel" in printed


def test_caching_and_what_follows_a_change(job: Path, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    shutil.copytree(job, folder)
    assert run(folder) == 0
    moved = [step for step, state in states(folder).items() if state != "cached"]
    assert moved == ["push"], "a moved root pushes to another place; all else is as it was"
    assert [version.name for version in (folder / "root" / "pushed" / "tiny").iterdir()] == ["1"]

    assert run(folder, "--set", "distillation.temperature=3.0") == 0
    after = STEPS[STEPS.index("distill") :]
    assert {step for step, state in states(folder).items() if state == "ran"} == set(after)
    assert "pushed before" in metrics(folder, 2)["models"], "the new version was compared with the one before"

    assert run(folder, "--set", "distillation.temperature=3.0") == 0
    assert set(states(folder).values()) == {"cached"}, "a repeated run meets the same predecessor"

    rows = folder / "rows.tsv"
    rows.write_text(rows.read_text() + "the sail was torn\tsea\n")
    assert run(folder) == 0
    rerun = [step for step, state in states(folder).items() if state == "ran"]
    assert rerun == ["ingest_examples", *STEPS[STEPS.index("fine_tune") :]]


def test_a_model_that_is_not_good_enough_is_not_pushed(
    job: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "job"
    shutil.copytree(job, folder)
    shutil.rmtree(folder / "root" / "pushed")
    # One step of training leaves an int8 file that cannot know every row.
    little = ["--set", "fine_tuning.steps=1", "--set", "distillation.training.steps=1", "--set", "quantization.steps=1"]
    assert run(folder, "--set", "evaluation.min_accuracy=100", *little) == 3
    assert states(folder)["push"] == "refused"
    assert "NO: int8 accuracy" in capfd.readouterr().err
    assert not (folder / "root" / "pushed").exists()


def test_an_undisturbed_second_root_gets_the_same_models(job: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    write_job(folder)
    assert run(folder) == 0
    for pattern in ("*/corpus-*", "*/vocabulary-*", "*/examples-*", "*/model-*", "*/student-*", "*/edge-*"):
        ours, theirs = (
            {path.parent.name: Model(path) for path in (root / "root" / "artifacts").glob(pattern)}
            for root in (job, folder)
        )
        assert ours
        for name, artifact in ours.items():
            first, second = (json.loads((a.path / "manifest.json").read_text()) for a in (artifact, theirs[name]))
            assert first["fingerprint"] == second["fingerprint"], f"{pattern} of {name} differs"
