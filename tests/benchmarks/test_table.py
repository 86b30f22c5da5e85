"""The jobs of benchmarks are jobs, and their table has a column for each figure that a row has."""

from pathlib import Path

import pytest

from benchmarks.table import print_table, spread
from pipeline.job.files import load_settings

JOBS = sorted((Path(__file__).parents[2] / "benchmarks" / "jobs").rglob("*.toml"))


@pytest.mark.parametrize("job", JOBS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_jobs_are_valid(job: Path) -> None:
    settings = load_settings(job)
    assert settings.examples is not None or settings.corpus is not None


def test_table_leaves_out_columns_without_cells(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([{"job": "a", "score": spread([50.0]), "MB": ""}, {"job": "b", "score": spread([1.0, 3.0]), "ms": "2"}])
    assert capsys.readouterr().out.splitlines() == [
        "| job | score | ms |",
        "|---|---:|---:|",
        "| a | 50.00 (one seed) |  |",
        "| b | 2.00 ± 1.41 | 2 |",
    ]
