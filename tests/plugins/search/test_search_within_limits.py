"""A job through the command line as a search: stopped on its way, gone on with, and found done."""

import json
import tomllib
from pathlib import Path

import pytest

from keras_bert.export.files import count_download_bytes
from pipeline.cli import main
from pipeline.orchestrator.runner import run_pipeline
from pipeline.orchestrator.store import Store
from tests.components import tuning_job
from tests.pipeline.command_line import refused

JOB = """
name = "small"
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
validations = 1
[student]
num_layers = 1
[distillation]
steps = 9
learning_rate = 5e-3
batch_size = 8
xla = "off"
[quantization]
recipe = "weights_wi4"
post_training = true
calibration_batches = 1
[export]
lengths = []
runtimes = ["tflite"]
[evaluation]
max_export_loss = 100.0
below_baseline = "warn"
"""
# There is no room for the teacher's shape with all pieces, but with those that stand in rows.
MEGABYTES = 0.02635
PIECES, SEEN, WIDTH = 18, 14, 16
# Of all runs of a pipeline, the one in the midst of which the search is stopped.
STOPPED_AT = 5
# Bytes that are kept for `export.json`, `metrics.json` and `origin.json` in a file.
_RECORDS = 4000


def command(folder, *more):
    return ["search", str(folder / "small.toml"), "--root", str(folder / "root"), "--minutes", "60", *more]


def write_job(folder):
    tuning_job.write_checkpoint(folder)
    tuning_job.write_rows(folder, "classification", count=80)
    (folder / "small.toml").write_text(JOB)
    return folder


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """A job of which nothing has run."""
    return write_job(tmp_path_factory.mktemp("idle"))


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A search that was stopped before its last runs, and gone on with."""
    folder = write_job(tmp_path_factory.mktemp("search"))
    rows = folder / "classification.tsv"
    for word in tuning_job.OTHERS:
        rows.write_text(rows.read_text().replace(f"{word} ", "").replace(f" {word}\t", "\t"))
    arguments = command(folder, "--max-megabytes", str(MEGABYTES), "--max-milliseconds", "1000", "--min-share", "0.01")
    runs = []

    def stopped(pipeline, *given, **further):
        runs.append(pipeline.name)
        if len(runs) == STOPPED_AT:
            raise KeyboardInterrupt
        return run_pipeline(pipeline, *given, **further)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plugins.search.runs.run_pipeline", stopped)
        assert main(arguments) == 130
    assert main(arguments) == 0
    return folder


@pytest.fixture(scope="module")
def content(job):
    return json.loads((job / "root/searched/small-student/search.json").read_text())


def executions(folder):
    """Component, key and state of all steps of all runs."""
    store = Store(folder / "root", create=False)
    try:
        all_executions = [execution for run in store.runs() for execution in store.executions(run.id)]
        return [(one_execution.component, one_execution.key, one_execution.state) for one_execution in all_executions]
    finally:
        store.close()


@pytest.mark.long
def test_candidates_fit_and_the_best_of_a_short_training_wins(content):
    (first,) = content["rounds"]
    assert first["share"] == 1 / 3
    assert len(first["scores"]) == content["planned"][0]["candidates"] > 1
    assert first["scores"][content["winner"]] == max(first["scores"].values())
    for name in first["scores"]:
        record = content["rungs"][name]
        assert record["megabytes"] <= MEGABYTES
        assert record["trained"] == (1 if name == content["winner"] else 1 / 3)
    assert f"l1-v{SEEN}-wi4" in first["scores"]
    assert content["rungs"]["teacher"]["share"] == 1
    assert content["rungs"]["teacher"]["megabytes"] > MEGABYTES
    assert any(record["on_front"] for record in content["rungs"].values())
    assert 0 < content["seconds"] < content["expected"] + 60


@pytest.mark.long
def test_the_winner_is_measured_on_test_rows_and_pushed(job, content):
    winner, pushed = content["rungs"][content["winner"]], Path(content["pushed"])
    assert pushed == job / "root/pushed/small/1"
    # The file is measured with room for its records, of which it holds all.
    size = (pushed / "model.tflite").stat().st_size
    assert size - _RECORDS < 1e6 * winner["megabytes"] - _RECORDS < size <= 1e6 * winner["megabytes"] <= 1e6 * MEGABYTES
    download = count_download_bytes(pushed / "model.tflite")
    assert download - _RECORDS < 1e6 * winner["download_megabytes"] - _RECORDS < download
    assert download <= 1e6 * winner["download_megabytes"] < size
    # What was said of the file before anything was trained; it was measured with all pieces.
    fewer = f"-v{SEEN}"
    (measured,) = (job / "root/artifacts" / f"measure_footprint-{content['winner'].replace(fewer, '')}").glob(
        "*/latency.json"
    )
    cut = (PIECES - SEEN) * WIDTH if fewer in content["winner"] else 0
    # Fewer pieces are fewer names, too.
    spare = json.loads(measured.read_text())["model.tflite"]["bytes"] + _RECORDS - cut - 1e6 * winner["megabytes"]
    # The digits of a digest compress to a few bytes more or fewer.
    assert -16 <= spare <= (PIECES - SEEN) * 20
    assert {"teacher", "student", "tflite int4"} <= content["test"]["models"].keys()
    assert content["tables"]["student"]["num_layers"] == 1


@pytest.mark.long
def test_a_table_and_a_plot_show_it(job, content):
    folder = job / "root/searched/small-student"
    table = (folder / "search.md").read_text()
    for name in content["rungs"]:
        assert f"| {name}" in table
    winner = tomllib.loads((folder / "winner.toml").read_text())
    assert (winner["quantization"]["recipe"], winner["student"]["num_layers"]) == ("weights_wi4", 1)
    assert winner["name"] == "small"
    assert "<svg" in (folder / "score_over_size.svg").read_text()[:1000]


@pytest.mark.long
def test_a_search_that_was_stopped_goes_on(job, content):
    made = [execution[:2] for execution in executions(job) if execution[2] == "ran"]
    assert len(made) == len(set(made)), "no step has run twice"
    arguments = command(job, "--max-megabytes", str(MEGABYTES), "--max-milliseconds", "1000", "--min-share", "0.01")
    before = len(executions(job))
    assert main(arguments) == 0
    assert {state for _, _, state in executions(job)[: len(executions(job)) - before]} == {"cached"}
    assert json.loads((job / "root/searched/small-student/search.json").read_text()) == content


@pytest.mark.long
def test_limits_that_cannot_be_met(job, capsys):
    assert main(command(job, "--max-megabytes", "0.0235")) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "--max-megabytes 0.0235 cannot be met: the smallest file, l1-h1-f8-r2-v14-wi4, has 0.026 MB, 0.0025" in said
    assert main(command(job, "--max-download-megabytes", "0.0115")) == 3
    said = " ".join(capsys.readouterr().err.split())
    message = "the smallest file after deflate, l1-h1-f8-r2-v14-wi4, has 0.0118 MB"
    assert f"--max-download-megabytes 0.0115 cannot be met: {message}" in said
    assert main(command(job, "--max-megabytes", str(MEGABYTES), "--minutes", "0.01")) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--minutes must be at least" in said
    assert said.endswith("got 0.01")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--min-share", "0.5"], "--max-milliseconds must be given beside --min-share, got none of them"),
        (["--max-megabytes", "1", "--trials", "3"], "--trials must be left out beside limits"),
        (["--max-megabytes", "1", "--space", "pooling"], "--space must be left out beside limits"),
        (["--max-megabytes", "0"], "--max-megabytes must be positive and finite, got 0"),
        (["--max-download-megabytes", "0"], "--max-download-megabytes must be positive and finite, got 0"),
        (["--max-milliseconds", "1", "--min-share", "1.5"], "--min-share must be from 0 to 1, got 1.5"),
        (["--max-megabytes", "1", "--set", 'export.runtimes=["onnx"]'], "quantization must be left out where export"),
        (["--max-megabytes", "1", "--root", "{file}"], "root must be a folder that can be written to, got"),
    ],
)
def test_what_cannot_be_searched(idle, capfd, more, message):
    file = idle / "small.toml"
    assert message in refused(capfd, *command(idle, *(argument.format(file=file / "root") for argument in more)))
