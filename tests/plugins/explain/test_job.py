"""A job through the command line as an explanation: made once, then found done."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.cli import main
from tests.pipeline.command_line import refused
from tests.tiny_job import write_tuning_job


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A job and its data."""
    return write_tuning_job(tmp_path_factory.mktemp("explain"))


@pytest.mark.long
def test_a_job_is_explained_and_the_second_run_uses_the_cache(folder, capfd):
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


@pytest.mark.long
def test_a_pushed_version_is_explained_with_the_model_behind_it(folder, tmp_path, capfd):
    job = [str(folder / "small.toml"), "--set", "export.runtimes=['tflite', 'onnx']", "--root", str(folder / "root")]
    assert main(["run", *job]) == 0
    command = ["explain", str(folder / "root" / "pushed" / "small" / "1"), "old film", "--json", "--root"]
    capfd.readouterr()
    assert main([*command, str(folder / "root")]) == 0
    trained, *files = json.loads(capfd.readouterr().out)["models"]
    assert ["attention" in model for model in (trained, *files)] == [True, *[False] * len(files)]
    assert Path(trained["model"]).parent.name == "quantize"
    shares = [[word["share"] for word in model["words"]] for model in (trained, files[0])]
    np.testing.assert_allclose(*shares, atol=1e-3)
    assert main([*command, str(tmp_path)]) == 0
    assert len(json.loads(capfd.readouterr().out)["models"]) == len(files), "another root knows nothing of it"


def test_what_cannot_be_explained(folder, capfd):
    line = refused(capfd, "explain", folder / "small.toml", "--root", folder / "root", "--rows", "0")
    assert line == "--rows must be at least 1, got 0"
