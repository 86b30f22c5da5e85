"""The model card says what the metrics say."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.examples.registry import TASK_ROWS
from components.scoring.model_card import calibration_lines, format_score, render_model_card, write_model_card

TASK = {"task": "classification", "labels": ["bad", "good"], "max_length": 64}
RECIPE = {
    "model.tflite": {"lengths": [32, 64], "weights": "int8", "activations": "int8 around products"},
    "model_float32.tflite": {"lengths": [32, 64]},
    "model.onnx": {"lengths": [64]},
}


def value(*seeds: float, sd: float | None = None) -> dict[str, Any]:
    return {"mean": sum(seeds) / len(seeds), "sd": sd, "seeds": list(seeds)}


def metrics(**more: Any) -> dict[str, Any]:
    models = {
        "bag of n-grams": {"metrics": {"accuracy": value(0.7), "macro_f1": value(0.65)}},
        "tflite int8": {
            "metrics": {"accuracy": value(0.75), "macro_f1": value(0.7)},
            "megabytes": 1.5,
            "milliseconds": 0.091,
        },
    }
    return {"rows": {"test": 12}, "metric": "accuracy", "shipped": "tflite int8", "models": models, **more}


def test_the_card_holds_labels_lengths_and_every_row() -> None:
    card = render_model_card("reviews", 3, metrics(), TASK, RECIPE)
    assert card.startswith(
        "# reviews, version 3\n\nA BERT classifier of texts: bad, good. Inputs hold up to 64 tokens.\n"
    )
    assert "| model | accuracy | macro_f1 | MB | ms |\n| --- | --- | --- | --- | --- |\n" in card
    assert "| bag of n-grams | 70.00 | 65.00 |  |  |\n" in card
    assert "| tflite int8 | 75.00 | 70.00 | 1.50 | 0.09 |\n" in card
    assert "any batch and any length up to 64 tokens" in card
    assert "On 12 test rows" in card
    assert "`logits`: float32 (batch, 2), one for each label." in card
    assert "`tflite int8` is what\nthis folder is for" in card
    assert "over" not in card.split("## Quality")[1].split("|")[0], "one seed has no deviation to explain"


def test_of_two_files_for_one_runtime_the_card_has_the_one_that_is_pushed() -> None:
    card = render_model_card("reviews", 3, metrics(), TASK, RECIPE)
    says = "weights int8; activations int8 around products; for LiteRT; signatures for 32, 64 tokens"
    assert f"- `model.tflite`: {says}\n" in card
    assert "model_float32" not in card
    alone = {name: RECIPE[name] for name in ("model_float32.tflite",)}
    card = render_model_card("reviews", 3, metrics(), TASK, alone)
    assert "- `model_float32.tflite`: float32, for LiteRT; signatures for 32, 64 tokens\n" in card
    assert "`model.tflite`" not in card
    assert "onnx" not in card


def test_the_files_for_the_web_are_told_apart_by_what_asks_for_them() -> None:
    web = {
        "transformers_js/onnx/model.onnx": {"lengths": [64], "weights": "float32"},
        "transformers_js/onnx/model_fp16.onnx": {"lengths": [64], "weights": "float16"},
        "transformers_js/onnx/model_quantized.onnx": {"lengths": [64], "weights": "int8", "activations": "by rows"},
        "transformers_js/onnx/model_int8.onnx": {"lengths": [64], "weights": "int8", "activations": "learned"},
    }
    card = render_model_card("reviews", 3, metrics(), TASK, RECIPE | web)
    assert '- `transformers_js/onnx/model.onnx`: float32, `dtype: "fp32"` of transformers.js' in card
    assert '- `transformers_js/onnx/model_fp16.onnx`: weights float16; `dtype: "fp16"`\n' in card
    quantized = 'weights int8; activations by rows; `dtype: "q8"`'
    assert f"- `transformers_js/onnx/model_quantized.onnx`: {quantized}\n" in card
    static = 'weights int8; activations learned; `dtype: "int8"`'
    assert f"- `transformers_js/onnx/model_int8.onnx`: {static}\n" in card
    assert "transformers_js" not in render_model_card("reviews", 3, metrics(), TASK, RECIPE)


def test_seeds_have_a_mean_and_a_deviation() -> None:
    found = metrics()
    found["models"]["tflite int8"]["metrics"] = {name: value(0.7, 0.8, sd=0.0707) for name in ("accuracy", "macro_f1")}
    card = render_model_card("reviews", 3, found, TASK, RECIPE)
    assert "Scores are the mean and the standard deviation over 2 seeds." in card
    assert "| tflite int8 | 75.00 ± 7.07 | 75.00 ± 7.07 | 1.50 | 0.09 |" in card


@pytest.mark.parametrize(
    ("score", "text"),
    [
        ({"mean": 0.5, "sd": None}, "50.00"),
        ({"mean": 0.5, "sd": 0.0}, "50.00 ± 0.00"),
        ({"mean": -0.1234567, "sd": 0.01}, "-12.35 ± 1.00"),
    ],
)
def test_a_score_times_a_hundred(score: dict[str, Any], text: str) -> None:
    assert format_score(score) == text


@pytest.mark.parametrize("task", TASK_ROWS)
def test_every_task_has_a_card(tmp_path: Path, task: str) -> None:
    labels = {"labels": ["a", "b", "c"]} if "classification" in task else {}
    contents = {
        "metrics.json": metrics(),
        "task.json": {"task": task, "max_length": 8, **labels},
        "recipe.json": RECIPE,
    }
    for file, content in contents.items():
        (tmp_path / file).write_text(json.dumps(content))
    write_model_card(tmp_path, "mine", 7)
    card = (tmp_path / "README.md").read_text()
    assert card.startswith("# mine, version 7\n\nA BERT ")
    assert (": a, b, c. Inputs hold up to 8 tokens." in card) == bool(labels)
    output = "`embedding`: float32 (batch, width)" if task == "embedding" else "`logits`: float32 (batch"
    assert output in card


CALIBRATION = {
    "temperature": 1.5,
    "validation": {"rows": 40, "calibration_error": [0.1, 0.02]},
    "test": {"rows": 12, "calibration_error": [0.125, 0.03], "kept": {"share": 0.75, "precision": 0.9}},
}


def test_the_card_tells_how_far_probabilities_may_be_believed() -> None:
    assert "its score is no\ncalibrated probability.\n" in render_model_card("reviews", 3, metrics(), TASK, RECIPE)
    card = render_model_card("reviews", 3, metrics(calibration=CALIBRATION), TASK, RECIPE)
    assert "divided by a temperature of 1.5000, found on 40 validation answers of `tflite int8`\n" in card
    assert "calibration error 10.00 -> 2.00 on validation, 12.50 -> 3.00 on test rows.\n" in card
    without = render_model_card("reviews", 3, metrics(calibration=CALIBRATION | {"temperature": None}), TASK, RECIPE)
    assert "so that no temperature is best;\n" in without


@pytest.mark.parametrize(
    ("threshold", "line"),
    [
        (
            0.8,
            "not sure below 0.8000, for 95 % of validation answers right: "
            "on test rows 75.00 % are above, of which 90.00 % are right",
        ),
        (None, "no threshold has 95 % of validation answers right"),
    ],
)
def test_a_threshold_is_told_with_what_it_is_worth(threshold: float | None, line: str) -> None:
    calibration = CALIBRATION | {"min_precision": 0.95, "threshold": threshold}
    assert calibration_lines(calibration)[1] == line
