"""The commands that docstrings of benchmarks show name files of the repository."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("module", sorted((REPOSITORY / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_jobs_of_commands_exist(module):
    names = re.findall(r"\bbenchmarks/[\w/]+\.(?:toml|py)\b", module.read_text(encoding="utf-8"))
    assert [name for name in names if not (REPOSITORY / name).is_file()] == []
