"""A job of two tasks on the command line, each step in its own process."""

import json

import pytest

from pipeline.cli import main
from tests.components.tuning_job import write_checkpoint, write_rows
from tests.pipeline.command_line import said

JOB = """
name = "two"
max_length = 16
[checkpoint]
path = "model"
[tasks.kind.examples]
train = "classification.tsv"
[tasks.kind.evaluation]
max_export_loss = 100.0
below_baseline = "warn"
[tasks.price.examples]
task = "regression"
train = "regression.tsv"
[tasks.price.evaluation]
min_score = 100
required = false
[fine_tuning]
steps = 2
batch_size = 8
xla = "off"
[quantization]
recipe = "dynamic_wi8"
post_training = true
calibration_batches = 1
[export]
lengths = []
runtimes = ["tflite"]
"""


@pytest.mark.long
def test_a_job_of_two_tasks_runs_once_and_answers(tmp_path, capfd):
    write_checkpoint(tmp_path)
    for kind in ("classification", "regression"):
        write_rows(tmp_path, kind)
    (tmp_path / "two.toml").write_text(JOB)
    command = ["run", str(tmp_path / "two.toml"), "--root", str(tmp_path / "runs")]
    assert main(command) == 0
    printed = capfd.readouterr()
    assert "evaluate-kind" in printed.out
    assert "warning: evaluate-price, which is not required: tflite int8 spearman " in printed.err
    folder = tmp_path / "runs" / "pushed" / "two" / "1"
    assert set(json.loads((folder / "metrics.json").read_text())["tasks"]) == {"kind", "price"}
    assert said(capfd, "predict", folder, "--task", "kind", "cow hen").split("\t")[0] in ("animal", "plant")
    with (tmp_path / "classification.tsv").open("a") as table:
        table.write("cow hen owl cow hen owl fox\tanimal\n")
    planned = {
        line.split()[1]: line.split()[3] for line in said(capfd, *command, "--dry-run").splitlines() if "│" in line
    }
    cached = {step for step, would in planned.items() if would == "use"}
    assert cached == {"import_checkpoint", "read_examples-price", "ingest_examples-price"}
