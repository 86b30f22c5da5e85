"""A job through the command line as a ladder: a student and a rounding, alone and on top of one another."""

import json
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.orchestrator.store import Store
from tests.pipeline.command_line import refused
from tests.tiny_job import TUNING_JOB as JOB
from tests.tiny_job import write_tuning_job

RUNGS = ("teacher", "student", "quantization", "student+quantization")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The job and what it reads."""
    return write_tuning_job(tmp_path_factory.mktemp("ladder"))


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
    ("text", "message"),
    [
        (
            JOB.replace("[student]\nintermediate_size = 16\n", ""),
            "distillation must be left out without [student]",
        ),
        (JOB.replace('"tflite"', '"onnx"'), "quantization must be left out where export.runtimes has no 'tflite'"),
        (
            JOB[: JOB.index("[student]")],
            "there must be [examples], and one or more of [student], [pruning], [quantization]",
        ),
    ],
)
def test_what_is_no_ladder_is_refused(files, capfd, text, message):
    (files / "other.toml").write_text(text)
    line = refused(capfd, "compare", "--stages", files / "other.toml", "--root", files / "other")
    assert line.startswith(message)
    assert not (files / "other").exists()
