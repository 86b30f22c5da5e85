"""What tests of several steps look at, made once."""

from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.components import tuning_job
from tests.components.tuning_job import Line


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and its vocabulary, see `write_checkpoint`."""
    folder = tmp_path_factory.mktemp("checkpoint")
    tuning_job.write_checkpoint(folder)
    return folder


@pytest.fixture(scope="session")
def line(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Line]:
    """Task -> what the steps make of it."""
    lines: dict[str, Line] = {}

    def find(task: str) -> Line:
        if task not in lines:
            lines[task] = Line(task, checkpoint, tmp_path_factory.mktemp(task))
        return lines[task]

    return find


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that readers of tables and lines open, in order."""
    files: list[str] = []

    def open_noted(file: str) -> IO[bytes]:
        files.append(file)
        return open(file, "rb")

    monkeypatch.setattr("components.files.text_files.open_binary", open_noted)
    return files
