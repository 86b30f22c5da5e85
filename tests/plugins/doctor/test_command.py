"""`doctor` on the command line: the layers that quantization hurts, and what is refused before anything trains."""

import json

import pytest

from tests.pipeline.command_line import refused, said
from tests.tiny_job import TUNING_JOB, write_tuning_job


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The job and what it reads."""
    return write_tuning_job(tmp_path_factory.mktemp("doctor"))


@pytest.mark.long
def test_layers_are_ranked_and_restored_until_the_score_is_reached(files, capfd):
    printed = said(capfd, "doctor", files / "small.toml", "--root", files / "root", "--fix", "0")
    folder = files / "root/diagnosed/small"
    content = json.loads((folder / "diagnosis.json").read_text())
    assert content["recipe"] == "dynamic_wi8"
    assert len(content["layers"]) == 7, "six of a block, and the head"
    gains = [layer["gain"] for layer in content["layers"]]
    assert gains == sorted(gains, reverse=True)
    assert sum(layer["extra_microseconds"] for layer in content["layers"]) >= 0
    fix = content["fix"]
    assert fix["wanted"] == content["score"]["float"]
    assert fix["reached"] == (fix["score"] >= fix["wanted"])
    table = (folder / "diagnosis.md").read_text()
    assert all(f"| {layer['layer']} |" in table for layer in content["layers"])
    assert "<svg" in (folder / "gains.svg").read_text()[:1000]
    assert "written:" in printed
    assert "gain: share of the distance" in printed, "whatever a narrow screen folds in the table"


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (
            TUNING_JOB[: TUNING_JOB.index("[quantization]")],
            [],
            "there must be [examples] and a [quantization] to look into",
        ),
        (TUNING_JOB, ["--fix", "-1"], "--fix must be from 0 to 100 points, got -1"),
        (
            TUNING_JOB,
            ["--set", "quantization.recipe=float16"],
            "quantization.recipe must have integers to be diagnosed, got",
        ),
    ],
)
def test_jobs_that_cannot_be_diagnosed_are_refused(files, capfd, text, more, message):
    (files / "other.toml").write_text(text)
    assert message in refused(capfd, "doctor", files / "other.toml", "--root", files / "other", *more)
    assert not (files / "other" / "artifacts").exists(), "nothing was trained"
