"""A job through the command line as an explanation: made once, then found done."""

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from tests.components import tuning_job
from tests.test_ladder import JOB


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job and its data."""
    folder = tmp_path_factory.mktemp("explain")
    tuning_job.write_checkpoint(folder)
    tuning_job.write_rows(folder, "classification")
    (folder / "small.toml").write_text(JOB)
    return folder


@pytest.mark.long
def test_a_job_is_explained_and_the_second_run_uses_the_cache(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["explain", str(folder / "small.toml"), "--rows", "3", "--root", str(folder / "root")]
    assert main([*command, "--json"]) == 0
    content = json.loads(capfd.readouterr().out)
    assert [agreement["model"] for agreement in content["agreements"]] == ["student", "model.tflite"]
    assert [heads["model"] for heads in content["heads"]] == ["teacher", "student"]
    assert main(command) == 0
    printed = capfd.readouterr().out
    assert "explain_models" in printed
    assert printed.count("cached") == len([line for line in printed.splitlines() if line.startswith("[")])
    assert "same answer, %" in printed
    assert "Do the small models decide" in (folder / "root" / "reports" / "2.html").read_text()


def test_what_cannot_be_explained(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    job = ["explain", str(folder / "small.toml"), "--root", str(folder / "root")]
    capfd.readouterr()
    assert main([*job, "--rows", "0"]) == 2
    assert capfd.readouterr().err == "error: --rows must be at least 1, got 0\n"
