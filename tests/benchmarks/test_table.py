"""The jobs of benchmarks are jobs, and their table has a column for each figure that a row has."""

from pathlib import Path

import pytest

from benchmarks import table
from benchmarks.table import print_table, spread
from pipeline.job.files import load_settings

JOBS = sorted((Path(__file__).parents[2] / "benchmarks" / "jobs").rglob("*.toml"))


@pytest.mark.parametrize("job", JOBS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_jobs_are_valid(job):
    settings = load_settings(job)
    assert settings.examples is not None or settings.corpus is not None


def test_table_leaves_out_columns_without_cells(capsys):
    print_table([{"job": "a", "score": spread([50.0]), "MB": ""}, {"job": "b", "score": spread([1.0, 3.0]), "ms": "2"}])
    assert capsys.readouterr().out.splitlines() == [
        "| job | score | ms |",
        "|---|---:|---:|",
        "| a | 50.00 (one seed) |  |",
        "| b | 2.00 ± 1.41 | 2 |",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jobs/accuracy/sst2.toml", "jobs/few_rows/sst2.toml"], "jobs must have different file names"),
        (["jobs/accuracy/sst2.toml", "jobs/accuracy/stsb.toml", "--baseline", "jobs/accuracy/sst2.toml"], "--baseline"),
        (["jobs/multi_label.toml", "--baseline", "multi_label"], "must stand beside several jobs"),
        (["jobs/multi_label.toml", "--steps"], "must stand beside several jobs"),
        (["jobs/multi_label.toml", "--teachers", "--lengths", "32"], "--lengths must be left out with --teachers"),
    ],
)
def test_refuses_before_a_job_runs(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["table", *arguments])
    monkeypatch.setattr(table, "measure", lambda *_: pytest.fail("a job ran"))
    with pytest.raises(SystemExit, match="2"):
        table.main()
    assert message in capsys.readouterr().err
