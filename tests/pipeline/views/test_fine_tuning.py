"""The table of a fine-tuning, to the letter, and the average over tasks."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pipeline.views.fine_tuning import Outcome, average, show_outcomes

REPORT = {"yes": {"precision": 0.5, "recall": 1.0, "f1": 0.66667, "support": 3}}


def outcome(
    name: str, metric: str, mean: float, sd: float | None, report: dict[str, dict[str, float]] = REPORT
) -> Outcome:
    scores: dict[str, Any] = {
        "metric": metric,
        "test": {metric: {"mean": mean, "sd": sd}, "another": {"mean": 0.0, "sd": 0.0}},
        "validation": {metric: {"mean": 0.5, "sd": None}},
        "seeds": [{}] if sd is None else [{}, {}],
        "rows": {"test": 40},
        "kept": 1,
        "report": report,
    }
    return Outcome(name, scores, Path("models") / name, 75.0)


def shown(outcomes: list[Outcome], wanted: int) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    show_outcomes(outcomes, wanted, console)
    return console.file.getvalue().splitlines()


SENTIMENT, SIMILARITY = outcome("sst", "accuracy", 0.9, 0.01234), outcome("sts", "spearman", 0.85, None)


def test_a_row_a_task_and_the_average_in_the_last_line() -> None:
    lines = shown([SENTIMENT, SIMILARITY], 2)
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]
    assert cells == [
        ["sst", "accuracy", "90.00 ± 1.23", "50.00", "40", "1 min 15 s"],
        ["sts", "spearman", "85.00", "50.00", "40", "1 min 15 s"],
    ]
    assert "sst: the model of seed 1, the best of 2 on validation rows, is in models/sst" in lines
    assert lines[-1] == "average over 2 tasks: 87.50, the mean of their metrics x 100, as GLUE's (Wang et al. 2019)"


def test_a_single_task_shows_its_classes() -> None:
    lines = shown([SENTIMENT], 1)
    assert [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")][1:] == [
        ["yes", "50.00", "100.00", "66.67", "3"]
    ]
    assert not any("yes" in line for line in shown([SENTIMENT, SIMILARITY], 2))


def test_names_are_no_markup() -> None:
    row, names = REPORT["yes"], ("[neg]", "a[/neg]", ":cat:")
    lines = shown([outcome("[mine] :cat:", "accuracy", 0.9, None, dict.fromkeys(names, row))], 1)
    assert [line.split("│")[1].strip() for line in lines if line.startswith("│")] == ["[mine] :cat:", *names]
    assert any(line.startswith("[mine] :cat:: the model of seed 1") for line in lines)


def test_a_regression_has_no_classes() -> None:
    assert not any("class" in line for line in shown([outcome("sts", "spearman", 0.5, None, {})], 1))


def test_no_average_over_one_task_or_over_some_of_those_wanted() -> None:
    assert not any("average" in line for line in [*shown([SENTIMENT], 1), *shown([SENTIMENT], 2)])
    assert shown([], 2) == []


def test_the_average_counts_every_task_alike() -> None:
    assert average([SENTIMENT, SIMILARITY, outcome("c", "f1", 0.05, 0.5)]) == pytest.approx(60.0)
