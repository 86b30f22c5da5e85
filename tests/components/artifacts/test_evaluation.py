"""The content of an evaluation, written and read again."""

import json

import pytest

from components.artifacts.evaluation import Evaluation, MeasuredModel, Metrics, SeedScores

METRICS = Metrics(
    task="classification",
    metric="accuracy",
    rows={"test": 4},
    shipped="tflite int8",
    kept=1,
    models={
        "majority class": MeasuredModel({"accuracy": SeedScores.of([0.5])}, trivial=True),
        "tflite int8": MeasuredModel({"accuracy": SeedScores.of([0.7, 0.9])}, megabytes=0.0, milliseconds=0.5),
    },
    validation={"accuracy": SeedScores.of([0.75])},
    labels=["no", "ja"],
    warnings=["it is below a baseline"],
)


def test_metrics_are_read_as_they_were_written(tmp_path):
    evaluation = Evaluation(tmp_path)
    evaluation.write(METRICS, {})
    assert evaluation.read() == METRICS
    assert METRICS.score == (pytest.approx(0.8), pytest.approx(0.02**0.5), [0.7, 0.9])


def test_a_row_holds_only_what_it_has(tmp_path):
    Evaluation(tmp_path).write(METRICS, {})
    models = json.loads((tmp_path / "metrics.json").read_text())["models"]
    assert models["majority class"].keys() == {"metrics", "trivial"}
    assert models["tflite int8"].keys() == {"metrics", "megabytes", "milliseconds"}


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match="wrong"):
        Metrics.from_json(METRICS.as_json() | {"wrong": 1})
