"""Rows for benchmarks."""

import pytest

from benchmarks import make_rows


def test_documents_need_files(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["make_rows", "documents"])
    with pytest.raises(SystemExit, match="2"):
        make_rows.main()
    assert "documents must have --documents LABEL=FILE and --filler FILE" in capsys.readouterr().err
