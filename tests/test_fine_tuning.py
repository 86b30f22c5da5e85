"""Fine-tuning through the command line: a checkpoint, two tasks, two seeds, one table."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

import keras_bert
from pipeline.cli import main
from pipeline.orchestrator.store import Store
from tests.components import tuning_job

SETTINGS = """
max_length = 16
seeds = 3
[checkpoint]
path = "model"
[fine_tuning]
epochs = 4.0
batch_size = 8
learning_rate = 1e-2
validations = 2
xla = "off"
precision = "float32"
[examples]
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    tuning_job.write_checkpoint(folder)
    for task in ("classification", "regression"):
        rows = Path(tuning_job.write_rows(folder, task).train).name
        (folder / f"{task}.toml").write_text(SETTINGS + f"train = '{rows}'\ntask = '{task}'\n")
    return folder


def run(job: Path, *more: str) -> int:
    tasks = [str(job / f"{task}.toml") for task in ("classification", "regression")]
    return main(["fine-tune", *tasks, "--seeds", "2", "--root", str(job / "root"), *more])


def metrics(job: Path) -> dict[str, dict[str, Any]]:
    """Task -> what was measured."""
    files = (job / "root" / "artifacts" / "evaluate").glob("evaluation-*/metrics.json")
    found = [json.loads(file.read_text()) for file in files]
    return {content["task"]: content for content in found}


def states(job: Path) -> dict[str, str]:
    """Step -> how it ended, in the newest run."""
    with contextlib.closing(Store(job / "root", create=False)) as store:
        return {step.node: step.state for step in store.executions(store.runs()[0].id)}


def test_one_table_for_all_tasks_and_a_second_run_is_cached(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(job) == 0
    lines = capsys.readouterr().out.splitlines()
    found = metrics(job)
    scores = {task: content["models"]["teacher"]["metrics"][content["metric"]] for task, content in found.items()}
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert [row[:2] for row in cells] == [["classification", "accuracy"], ["regression", "spearman"]]
    for row, task in zip(cells, ("classification", "regression"), strict=True):
        assert row[2].startswith(f"{100 * scores[task]['mean']:.2f} ± ")
        assert row[4] == "4"
        assert len(scores[task]["seeds"]) == 2
    total = sum(score["mean"] for score in scores.values())
    assert lines[-1].startswith(f"average over 2 tasks: {50 * total:.2f}, ")
    folder = next(line.rpartition(" is in ")[2] for line in lines if line.startswith("classification: the model"))
    assert Path(folder).parent.name == f"fine_tune-{found['classification']['kept']}"
    assert keras_bert.load(folder).predict(["cow hen owl"])[0].label in ("animal", "plant")

    assert run(job) == 0
    assert capsys.readouterr().out.splitlines()[-1] == lines[-1]
    steps = ("import_checkpoint", "ingest_examples", "fine_tune-0", "fine_tune-1", "evaluate")
    assert states(job) == dict.fromkeys(steps, "cached")


def test_a_metric_that_one_task_does_not_have_shows_before_any_training(
    job: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "root"
    assert run(job, "--root", str(root), "--set", "evaluation.metric=macro_f1") == 2
    rule = "evaluation.metric must be one of ['spearman', 'pearson'] for regression"
    assert capfd.readouterr() == ("", f"error: regression.toml: {rule}, got 'macro_f1'\n")
    assert not root.exists()


def test_what_one_task_cannot_do_leaves_the_finished_ones_in_the_table(
    job: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # That these are too few for three splits shows when they are split.
    (job / "regression.tsv").write_text("text\tlabel\ncow\t0.5\noak\t0.0\n")
    assert run(job) == 2
    printed = capfd.readouterr()
    assert printed.err.splitlines()[-1].startswith("error: regression.toml: ")
    assert "│ classification │ accuracy │" in printed.out
    assert "average" not in printed.out
