"""Statistics on the terminal: tables, bars, and folders that have none."""

import io
import json

import pytest
from rich.console import Console

from components.artifacts.standard import TaskExamples
from pipeline.views.statistics import format_value, show_statistics
from tests.pipeline.command_line import refused, said

STATISTICS = {
    "train [128]": {"rows": 1234567, "share to predict": 0.15, "source": "a [b]"},
    "tokens a row": [["2-9", 1], ["10-17", 0], ["18-25", 400]],
}


def draw(statistics):
    console = Console(file=io.StringIO(), width=100)
    show_statistics(statistics, console)
    return console.file.getvalue().splitlines()


def test_tables_and_bars():
    lines = draw(STATISTICS)
    assert any(line.split("│")[1:3] == [" rows             ", " 1,234,567 "] for line in lines)
    assert any("0.1500" in line for line in lines)
    assert any("train [128]" in line for line in lines), "a title is not markup"
    assert any("a [b]" in line for line in lines)
    bars = [line.count("█") for line in lines if line.strip().startswith(("2-9", "10-17", "18-25"))]
    assert bars == [1, 0, 40]


def test_an_empty_histogram_is_its_title():
    assert [line.strip() for line in draw({"nothing": []})] == ["nothing"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (0.15, "0.1500"), (12345.678, "12,345.6780"), ("x", "x"), (True, "True")],
)
def test_values(value, text):
    assert format_value(value) == text


def test_show_prints_the_statistics_of_a_folder(tmp_path, capsys):
    (tmp_path / "statistics.json").write_text(json.dumps(STATISTICS))
    assert "1,234,567" in said(capsys, "show", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--root must be a folder that exists, got {folder}/runs"),
        ("{", "cannot be read"),
        ("[1]", "must hold an object of tables"),
        ('{"a": [["x", null]]}', "tables and histograms"),
        ('{"a": [["x", NaN]]}', "tables and histograms"),
        ('{"a": [["x", 1e999], ["y", 1]]}', "tables and histograms"),
        ('{"a": [["x", -1]]}', "tables and histograms"),
    ],
)
def test_show_refuses_what_has_no_statistics(tmp_path, capsys, content, message):
    if content is not None:
        (tmp_path / "statistics.json").write_text(content)
    assert message.format(folder=tmp_path) in refused(capsys, "show", tmp_path, "--root", tmp_path / "runs")


def test_show_shows_counts_sizes_and_values_of_any_artifact(tmp_path, capsys):
    examples = TaskExamples(tmp_path / "examples")
    examples.path.mkdir()
    examples.file("features.json").write_text(json.dumps({"task": "regression", "rows": {"train": 1234567}}))
    examples.counts = {"train": 7654321, "test_in_train": 2}
    examples.seal({})
    printed = said(capsys, "show", examples.path)
    for text in ("counts", "7,654,321", "test_in_train", "features.json", "rows.train", "1,234,567", "regression"):
        assert text in printed


@pytest.mark.parametrize("content", ["{", "[]", '{"counts": 5}', '{"counts": {}}'])
def test_show_refuses_a_damaged_manifest(tmp_path, capsys, content):
    (tmp_path / "manifest.json").write_text(content)
    assert "manifest.json" in refused(capsys, "show", tmp_path)
