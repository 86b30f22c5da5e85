"""A job through the command line as a ladder: a student and a rounding, alone and on top of one another."""

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.orchestrator.store import Store
from tests.components import tuning_job
from tests.tiny_job import TUNING_JOB as JOB

RUNGS = ("teacher", "student", "quantization", "student+quantization")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The job and what it reads."""
    folder = tmp_path_factory.mktemp("ladder")
    tuning_job.write_checkpoint(folder)
    tuning_job.write_rows(folder, "classification")
    (folder / "small.toml").write_text(JOB)
    return folder


@pytest.fixture(scope="module")
def job(files):
    """The same, done."""
    assert main(["compare", "--stages", str(files / "small.toml"), "--root", str(files / "root")]) == 0
    return files


@pytest.fixture(scope="module")
def content(job):
    return json.loads((job / "root/ladders/small/ladder.json").read_text())


@pytest.mark.long
def test_each_part_stands_alone_and_on_the_others(content):
    assert tuple(content["rungs"]) == RUNGS
    rungs = content["rungs"]
    assert content["metric"] == "accuracy"
    assert content["lengths"] == [16], "no row is as long as 32"
    assert rungs["teacher"]["share"] == 1
    assert rungs["student"]["parameters"] == rungs["student+quantization"]["parameters"]
    assert rungs["student"]["parameters"] < rungs["teacher"]["parameters"] == rungs["quantization"]["parameters"]
    for name, record in rungs.items():
        assert Path(record["file"]).is_file()
        assert record["megabytes"] == Path(record["file"]).stat().st_size / 1e6
        assert record["milliseconds"]["16"] > 0
        assert Path(record["file"]).name == ("model.tflite" if "quantization" in name else "model_float32.tflite")
    assert any(record["on_front"] for record in rungs.values())


@pytest.mark.long
def test_a_table_and_a_plot_show_it(job, content):
    folder = job / "root/ladders/small"
    table = (folder / "ladder.md").read_text()
    for name, record in content["rungs"].items():
        mark = " •" if record["on_front"] else ""
        assert f"| {name}{mark} | {100 * record['score']['mean']:.2f} |" in table
    assert "<svg" in (folder / "score_over_size.svg").read_text()[:1000]
    assert (folder / "score_over_size.png").stat().st_size > 10_000


@pytest.mark.long
def test_what_rungs_share_is_made_once(job):
    store = Store(job / "root", create=False)
    try:
        kinds = [made.artifact.type for made in store.artifacts()]
    finally:
        store.close()
    # The teacher, the student, and each of them rounded; and the checkpoint.
    assert kinds.count("Model") == 5
    assert kinds.count("EdgeModel") == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("[student]\nintermediate_size = 16\n", ""), "distillation must be left out without [student]"),
        (('"tflite"', '"onnx"'), "quantization must be left out where export.runtimes has no 'tflite'"),
    ],
)
def test_what_is_no_ladder_is_refused(files, capsys, changes, message):
    (files / "other.toml").write_text(JOB.replace(*changes))
    assert main(["compare", "--stages", str(files / "other.toml"), "--root", str(files / "other")]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (files / "other").exists()


def test_a_job_without_parts(files, capsys):
    bare = JOB[: JOB.index("[student]")]
    (files / "bare.toml").write_text(bare)
    assert main(["compare", "--stages", str(files / "bare.toml"), "--root", str(files / "other")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "there must be [examples], and one or more of [student], [pruning], [quantization]" in said


@pytest.mark.long
def test_a_doctor_looks_into_the_same_job(job, capsys):
    command = ["doctor", str(job / "small.toml"), "--root", str(job / "root"), "--fix", "0"]
    assert main(command) == 0
    folder = job / "root/diagnosed/small"
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
    said = capsys.readouterr().out
    assert "written:" in said
    assert "gain: share of the distance" in said, "whatever a narrow screen folds in the table"


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (
            JOB[: JOB.index("[quantization]")],
            [],
            "there must be [examples] and a [quantization] to look into",
        ),
        (JOB, ["--fix", "-1"], "--fix must be from 0 to 100 points, got -1"),
        (
            JOB,
            ["--set", "quantization.recipe=float16"],
            "quantization.recipe must have integers to be diagnosed, got",
        ),
    ],
)
def test_what_a_doctor_cannot_look_into(files, capsys, text, more, message):
    (files / "other.toml").write_text(text)
    assert main(["doctor", str(files / "other.toml"), "--root", str(files / "other"), *more]) == 2
    assert not (files / "other" / "artifacts").exists(), "nothing was trained"
    assert message in " ".join(capsys.readouterr().err.split())
