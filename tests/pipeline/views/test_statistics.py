"""Statistics on the terminal: tables, bars, and folders that have none."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.cli import main
from pipeline.views.statistics import format_value, show_statistics

STATISTICS = {
    "train [128]": {"rows": 1234567, "share to predict": 0.15, "source": "a [b]"},
    "tokens a row": [["2-9", 1], ["10-17", 0], ["18-25", 400]],
}


def draw(statistics: dict) -> list[str]:
    console = Console(file=io.StringIO(), width=100)
    show_statistics(statistics, console)
    return console.file.getvalue().splitlines()


def test_tables_and_bars() -> None:
    lines = draw(STATISTICS)
    assert any(line.split("│")[1:3] == [" rows             ", " 1,234,567 "] for line in lines)
    assert any("0.1500" in line for line in lines)
    assert any("train [128]" in line for line in lines), "a title is no markup"
    assert any("a [b]" in line for line in lines)
    bars = [line.count("█") for line in lines if line.strip().startswith(("2-9", "10-17", "18-25"))]
    assert bars == [1, 0, 40]


def test_an_empty_histogram_is_its_title() -> None:
    assert [line.strip() for line in draw({"nothing": []})] == ["nothing"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1,234,567"), (0.15, "0.1500"), (12345.678, "12,345.6780"), ("x", "x"), (True, "True")],
)
def test_values(value: object, text: str) -> None:
    assert format_value(value) == text


def test_inspect_prints_the_statistics_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "statistics.json").write_text(json.dumps(STATISTICS))
    assert main(["inspect", str(tmp_path)]) == 0
    assert "1,234,567" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "must be the folder of an artifact"),
        ("{", "cannot be read"),
        ("[1]", "must hold an object of tables"),
        ('{"a": [["x", null]]}', "tables and histograms"),
        ('{"a": [["x", NaN]]}', "tables and histograms"),
        ('{"a": [["x", 1e999], ["y", 1]]}', "tables and histograms"),
        ('{"a": [["x", -1]]}', "tables and histograms"),
    ],
)
def test_inspect_refuses_what_has_no_statistics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "statistics.json").write_text(content)
    assert main(["inspect", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
