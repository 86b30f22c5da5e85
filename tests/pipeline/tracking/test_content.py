import contextlib
import shutil
from pathlib import Path

from pipeline.orchestrator.store import Store
from pipeline.report.record import read_record
from pipeline.tracking.mlflow import MetricPoint, RunSummary, summarize_run
from tests.pipeline.provenance.made_up import Jobs


def summarize(root: Path, number: int) -> RunSummary:
    with contextlib.closing(Store(root)) as store:
        return summarize_run(read_record(root, number), store)


def test_settings_and_scores_of_a_run(tmp_path: Path) -> None:
    jobs = Jobs(tmp_path)
    first, second = jobs.run("a", 0.5), jobs.run("b", 0.75, seeds=3, push=False)
    assert summarize(tmp_path, first).folder == tmp_path / "pushed" / "a-1"
    content = summarize(tmp_path, second)
    assert content.parameters == {"name": "job", "training.seeds": "3"}
    assert content.points == [MetricPoint("teacher/accuracy", 0.75, 0), MetricPoint("teacher/megabytes", 1.5, 0)]
    assert content.folder is None


def test_a_pushed_folder_that_is_gone(tmp_path: Path) -> None:
    number = Jobs(tmp_path).run("a")
    shutil.rmtree(tmp_path / "pushed")
    assert summarize(tmp_path, number).folder is None
