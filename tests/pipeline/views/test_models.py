"""The tables of models and of their classes, to the letter."""

import pytest

from components.artifacts.evaluation import Metrics
from pipeline.views.models import show_models
from tests.pipeline.views.contents import cells, headings, lines_of, screen

REPORT = {"yes": {"precision": 0.5, "recall": 1.0, "f1": 0.66667, "support": 3}}


def spread(*values):
    """A metric over seeds as it stands in `metrics.json`; the standard deviation is that of two equal steps."""
    sd = abs(values[1] - values[0]) / 2**0.5 if len(values) > 1 else None
    return {"mean": sum(values) / len(values), "sd": sd, "seeds": list(values)}


def show(models, report=REPORT, **more):
    console = screen(120)
    measured = {
        "task": "classification",
        "kept": 0,
        "models": models,
        "shipped": "tflite int8",
        "metric": "macro_f1",
        "rows": {"test": 1200},
        "report": report,
        **more,
    }
    show_models(Metrics.from_json(measured), console)
    return lines_of(console)


def shown_classes(report):
    return show({"tflite int8": {"metrics": {"macro_f1": spread(0.9)}}}, report)


@pytest.mark.parametrize(
    ("scores", "score", "over"),
    [((0.9,), "90.00", ""), ((0.89, 0.91), "90.00 ± 1.41", "; mean ± standard deviation over 2 seeds")],
)
def test_a_row_a_model_with_what_it_takes(scores, score, over):
    metrics = {"macro_f1": spread(*scores), "accuracy": spread(*scores)}
    lines = show(
        {
            "[majority]": {"metrics": {"macro_f1": spread(0.3333), "accuracy": spread(0.5)}, "trivial": True},
            "tflite int8": {"metrics": metrics, "megabytes": 1.236, "download_megabytes": 1.0, "milliseconds": 0.5},
            "pushed before": {"metrics": metrics},
        }
    )
    assert headings(lines, "model") == ["model", "macro f1", "accuracy", "MB", "MB deflated", "ms"]
    assert cells(lines) == [
        ["[majority]", "33.33", "50.00", "", "", ""],
        ["tflite int8", score, score, "1.24", "1.00", "0.50"],
        ["pushed before", score, score, "", "", ""],
        ["yes", "50.00", "100.00", "66.67", "3"],
    ]
    assert f"on 1200 test rows, x 100{over}; ms: the median for one row on one thread" in lines


def test_a_note_says_which_weights_float_files_hold():
    row = {"metrics": {"macro_f1": spread(0.9)}}
    note = "onnx float32: the weights as they were quantized to int8, written as float32"
    assert note in show({"tflite int8": row, "onnx float32": row})
    assert not any("as they were quantized" in line for line in show({"tflite int8": row}))


def test_of_many_classes_the_worst_are_shown_in_their_order():
    lines = shown_classes({f"label {n:02d}": REPORT["yes"] | {"f1": 1 - n / 100} for n in range(40)})
    assert any(line.strip() == "on test rows, the worst 30 of 40 classes" for line in lines)
    assert [row[0] for row in cells(lines)[1:]] == [f"label {n:02d}" for n in range(10, 40)]
    unseen = {f"unseen {n:02d}": REPORT["yes"] | {"f1": 0.0, "support": 0} for n in range(40)}
    assert [row[0] for row in cells(shown_classes(unseen | REPORT))[1:]] == [*list(unseen)[:29], "yes"]


def test_warnings_follow_the_table_in_red():
    console = screen(120, force_terminal=True, color_system="standard")
    content = {
        "task": "classification",
        "kept": 0,
        "shipped": "x",
        "metric": "f1",
        "rows": {"test": 9},
        "models": {"x": {"metrics": {"f1": spread(0.5)}}},
        "warnings": ["it is below BM25"],
    }
    show_models(Metrics.from_json(content), console)
    assert lines_of(console)[-1] == "\x1b[31mwarning: it is below BM25\x1b[0m"


def test_names_are_no_markup():
    names = ("[neg]", "a[/neg]", ":cat:")
    assert [row[0] for row in cells(shown_classes(dict.fromkeys(names, REPORT["yes"])))] == ["tflite int8", *names]


def test_a_regression_has_no_classes():
    assert not any("class" in line for line in shown_classes({}))


@pytest.mark.parametrize(
    ("temperature", "text"), [(1.25, "temperature 1.2500"), (None, "no temperature, as 6 rows are few")]
)
def test_the_calibration_of_the_shipped_file(temperature, text):
    errors = {"validation": {"calibration_error": [0.1, 0.02]}, "test": {"calibration_error": [0.2, 0.03]}}
    models = {"tflite int8": {"metrics": {"macro_f1": spread(0.9)}}}
    lines = show(models, calibration={"temperature": temperature, "no_temperature": "6 rows are few", **errors})
    line = f"{text}: expected calibration error 10.00 -> 2.00 on validation, 20.00 -> 3.00 on test rows"
    assert line in lines
    assert not any("temperature" in note for note in show(models)), "one that has none"
