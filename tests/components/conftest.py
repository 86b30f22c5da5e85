"""What tests of several steps look at."""

from typing import IO

import pytest


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that readers of tables and lines open, in order."""
    files: list[str] = []

    def open_noted(file: str) -> IO[bytes]:
        files.append(file)
        return open(file, "rb")

    monkeypatch.setattr("components.files.text_files.open_binary", open_noted)
    return files
