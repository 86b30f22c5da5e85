"""The tables of models and of tasks, to the letter, and the average over tasks."""

import io
from typing import Any

import pytest
from rich.console import Console

from pipeline.views.models import TaskResult, average, show_models, show_tasks

REPORT = {"yes": {"precision": 0.5, "recall": 1.0, "f1": 0.66667, "support": 3}}


def spread(*values: float) -> dict[str, Any]:
    """A metric over seeds as it stands in `metrics.json`; the standard deviation is that of two equal steps."""
    sd = abs(values[1] - values[0]) / 2**0.5 if len(values) > 1 else None
    return {"mean": sum(values) / len(values), "sd": sd, "seeds": list(values)}


def result(name: str, metric: str, *values: float, report: dict[str, dict[str, float]] = REPORT) -> TaskResult:
    metrics = {metric: spread(*values), "another": spread(*(0.0 for _ in values))}
    measured = {
        "metric": metric,
        "shipped": "teacher",
        "models": {"majority class": {"metrics": {metric: spread(0.1)}}, "teacher": {"metrics": metrics}},
        "validation": {metric: spread(*(0.5 for _ in values))},
        "rows": {"test": 40},
        "kept": 1,
        "report": report,
    }
    return TaskResult(name, measured, f"models/{name}", 75.0)


def shown(results: list[TaskResult], wanted: int) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    show_tasks(results, wanted, console)
    return console.file.getvalue().splitlines()


def cells(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]


SENTIMENT, SIMILARITY = result("sst", "accuracy", 0.89, 0.91), result("sts", "spearman", 0.85)


def test_a_row_a_task_and_the_average_in_the_last_line() -> None:
    lines = shown([SENTIMENT, SIMILARITY], 2)
    assert cells(lines) == [
        ["sst", "accuracy", "90.00 ± 1.41", "50.00 ± 0.00", "40", "1 min 15 s"],
        ["sts", "spearman", "85.00", "50.00", "40", "1 min 15 s"],
    ]
    assert "sst: the model that is best of 2 on validation rows is in models/sst" in lines
    assert "sts: the model is in models/sts" in lines
    assert lines[-1] == "average over 2 tasks: 87.50, the mean of their metrics x 100, as GLUE's (Wang et al. 2019)"


def test_a_single_task_shows_its_classes() -> None:
    lines = shown([SENTIMENT], 1)
    assert cells(lines)[1:] == [["yes", "50.00", "100.00", "66.67", "3"]]
    assert not any("yes" in line for line in shown([SENTIMENT, SIMILARITY], 2))


def test_of_many_classes_the_worst_are_shown_in_their_order() -> None:
    report = {f"label {n:02d}": REPORT["yes"] | {"f1": 1 - n / 100} for n in range(40)}
    lines = shown([result("sst", "accuracy", 0.9, report=report)], 1)
    assert any(line.strip() == "on test rows, the worst 30 of 40 classes" for line in lines)
    assert [row[0] for row in cells(lines)[1:]] == [f"label {n:02d}" for n in range(10, 40)]


def test_names_are_no_markup() -> None:
    row, names = REPORT["yes"], ("[neg]", "a[/neg]", ":cat:")
    lines = shown([result("[mine] :cat:", "accuracy", 0.9, report=dict.fromkeys(names, row))], 1)
    assert [row[0] for row in cells(lines)] == ["[mine] :cat:", *names]
    assert "[mine] :cat:: the model is in models/[mine] :cat:" in lines


def test_a_regression_has_no_classes() -> None:
    assert not any("class" in line for line in shown([result("sts", "spearman", 0.5, report={})], 1))


def test_no_average_over_one_task_or_over_some_of_those_wanted() -> None:
    assert not any("average" in line for line in [*shown([SENTIMENT], 1), *shown([SENTIMENT], 2)])
    assert shown([], 2) == []


def test_the_average_counts_every_task_alike() -> None:
    assert average([SENTIMENT, SIMILARITY, result("c", "f1", 0.05)]) == pytest.approx(60.0)


def show(models: dict[str, dict[str, Any]]) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    measured = {
        "models": models,
        "shipped": "tflite int8",
        "metric": "macro_f1",
        "rows": {"test": 1200},
        "report": REPORT,
    }
    show_models(measured, console)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("scores", "score", "over"),
    [((0.9,), "90.00", ""), ((0.89, 0.91), "90.00 ± 1.41", "; mean ± standard deviation over 2 seeds")],
)
def test_a_row_a_model_with_what_it_takes(scores: tuple[float, ...], score: str, over: str) -> None:
    metrics = {"macro_f1": spread(*scores), "accuracy": spread(*scores)}
    lines = show(
        {
            "[majority]": {"metrics": {"macro_f1": spread(0.3333), "accuracy": spread(0.5)}, "trivial": True},
            "tflite int8": {"metrics": metrics, "megabytes": 1.236, "milliseconds": 0.5},
            "pushed before": {"metrics": metrics},
        }
    )
    heading = next(line for line in lines if "model" in line)
    assert [cell.strip() for cell in heading.strip("┃").split("┃")] == ["model", "macro f1", "accuracy", "MB", "ms"]
    assert cells(lines) == [
        ["[majority]", "33.33", "50.00", "", ""],
        ["tflite int8", score, score, "1.24", "0.50"],
        ["pushed before", score, score, "", ""],
        ["yes", "50.00", "100.00", "66.67", "3"],
    ]
    assert f"on 1200 test rows, x 100{over}; ms: the median for one row on one thread" in lines
