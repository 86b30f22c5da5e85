"""What tests of several steps look at."""

import pytest


@pytest.fixture
def opened(monkeypatch):
    """The files that readers of tables and lines open, in order."""
    files = []

    def open_noted(file):
        files.append(file)
        return open(file, "rb")

    monkeypatch.setattr("components.files.text_files.open_binary", open_noted)
    return files
