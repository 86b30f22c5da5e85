"""The model card of a pushed folder: what the model is, how good, how big and how fast."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert.folders import (
    CHARACTERS_FILE,
    MEDIAPIPE_FILE,
    ONNX_FILE,
    PAGE_FILE,
    TASK_FILE,
    TEXT_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    WEB_FILE,
    WEB_HALF_FILE,
    WEB_INT8_FILE,
    WEB_STATIC_FILE,
)

_ANSWERS = {
    "classification": ("BERT classifier of texts", "`logits`: float32 (batch, {labels}), one for each label"),
    "regression": ("BERT that gives a text a number", "`logits`: float32 (batch, 1), the number"),
    "token_classification": (
        "BERT tagger of words",
        "`logits`: float32 (batch, length, {labels}), of a word's first piece",
    ),
    "question_answering": (
        "BERT that finds answers in a context",
        "`logits`: float32 (batch, length, 2), of the answer's first and last piece",
    ),
    "embedding": ("BERT that makes vectors of texts", "`embedding`: float32 (batch, width)"),
}
_FILES = {
    TFLITE_FILE: "weights {weights}; activations {activations}; for LiteRT; signatures for {lengths} tokens",
    TFLITE_FLOAT_FILE: "float32, for LiteRT; signatures for {lengths} tokens",
    ONNX_FILE: "float32, for ONNX Runtime; any batch and any length up to {lengths} tokens",
    MEDIAPIPE_FILE: "weights {weights}; for MediaPipe Tasks, which makes ids of text by itself; {lengths} tokens",
    TEXT_FILE: "weights {weights}; takes text, with tensorflow-text's operations; {lengths} tokens",
    WEB_FILE: 'float32, `dtype: "fp32"` of transformers.js; also for Optimum; inputs by the names of transformers',
    WEB_HALF_FILE: 'weights {weights}; `dtype: "fp16"`',
    WEB_INT8_FILE: 'weights {weights}; activations {activations}; `dtype: "q8"`',
    WEB_STATIC_FILE: 'weights {weights}; activations {activations}; `dtype: "int8"`',
}
# What is not always there.
EXTRAS = {
    PAGE_FILE: "runs the model in a browser, without a network; open it",
    CHARACTERS_FILE: "what each character is to a tokenizer of an app",
}


def write_model_card(folder: Path, name: str, version: int) -> None:
    """Writes `README.md` from the `metrics.json`, `task.json` and `recipe.json` of a folder."""
    from keras_bert.clients.page import page_obstacle

    metrics, task, recipe = (
        json.loads((folder / file).read_text()) for file in ("metrics.json", TASK_FILE, "recipe.json")
    )
    further = [f"`{file}`: {EXTRAS[file]}" for file in EXTRAS if (folder / file).is_file()]
    if not (folder / PAGE_FILE).is_file():
        further.append(f"no `{PAGE_FILE}`: {page_obstacle(folder)}")
    (folder / "README.md").write_text(render_model_card(name, version, metrics, task, recipe, further))


def render_model_card(
    name: str,
    version: int,
    metrics: Mapping[str, Any],
    task: Mapping[str, Any],
    recipe: Mapping[str, Mapping[str, Any]],
    further: Sequence[str] = (),
) -> str:
    """The card as Markdown (sections after Mitchell et al. 2019, "Model Cards for Model Reporting")."""
    kind, output = _ANSWERS[task["task"]]
    labels: Sequence[str] = task.get("labels", ())
    known = f": {', '.join(labels)}" if labels else ""
    files = "\n".join(
        f"- `{file}`: {text.format(**{**recipe[file], 'lengths': ', '.join(map(str, recipe[file]['lengths']))})}"
        for file, text in _FILES.items()
        if file in recipe and not (file == TFLITE_FLOAT_FILE and TFLITE_FILE in recipe)
    )
    listed = "".join(f"- {line}\n" for line in further)
    names = list(next(iter(metrics["models"].values()))["metrics"])
    seeds = len(metrics["models"][metrics["shipped"]]["metrics"][metrics["metric"]]["seeds"])
    over = f" Scores are the mean and the standard deviation over {seeds} seeds." if seeds > 1 else ""
    table = "\n".join(_render_row(model, row, names) for model, row in metrics["models"].items())
    return f"""# {name}, version {version}

A {kind}{known}. Inputs hold up to {task["max_length"]} tokens.

## Files

{files}
- `vocab.txt`, `tokenizer.json`, `task.json`: how text becomes ids, and outputs become answers
{listed}- `golden.json`: texts with the ids, numbers and answers that an app has to get
- `metrics.json`: all figures; `recipe.json`: how the files were made

## Inputs and output

`token_ids`, `padding_mask` and, of models that tell segments apart, `segment_ids`: int32 (batch, length).
{output.format(labels=len(labels))}.

## Quality

On {metrics["rows"]["test"]} test rows that nothing was trained or tuned on, x 100.{over} `{metrics["shipped"]}` is what
this folder is for. Milliseconds are the median for one row on one thread of the machine that made the files.

| model | {" | ".join(names)} | MB | ms |
| --- |{" --- |" * (len(names) + 2)}
{table}

## Limits

The model knows what its training rows showed it. Rows unlike them get an answer all the same, and its score is no
calibrated probability{_calibration(metrics)}.
"""


def _calibration(metrics: Mapping[str, Any]) -> str:
    """How the score becomes one, if it does, and how far it may be believed then."""
    calibration = metrics.get("calibration")
    if calibration is None:
        return ""
    temperature, rows = calibration["temperature"], calibration["validation"]["rows"]
    of = f"{rows} validation answers of `{metrics['shipped']}`"
    told = (
        f": of {of}\nall are right, or no more than by chance, so that no temperature is best"
        if temperature is None
        else f" until logits are divided by a temperature of {temperature:.4f}, found on {of}\n"
        "(Guo et al. 2017), as `keras-bert-edge predict` does"
    )
    return told + "".join(f";\n{line}" for line in calibration_lines(calibration))


def calibration_lines(calibration: Mapping[str, Any]) -> list[str]:
    """What a calibration is worth, x 100, a line each."""
    both = {name: calibration[name]["calibration_error"] for name in ("validation", "test")}
    errors = ", ".join(f"{100 * before:.2f} -> {100 * after:.2f} on {name}" for name, (before, after) in both.items())
    lines = [f"expected calibration error {errors} rows"]
    if "threshold" not in calibration:
        return lines
    asked = f"{100 * calibration['min_precision']:g} % of validation answers right"
    if calibration["threshold"] is None:
        return [*lines, f"no threshold has {asked}"]
    kept, precision = (calibration["test"]["kept"][name] for name in ("share", "precision"))
    right = "" if precision is None else f", of which {100 * precision:.2f} % are right"
    told = f"not sure below {calibration['threshold']:.4f}, for {asked}"
    return [*lines, f"{told}: on test rows {100 * kept:.2f} % are above{right}"]


def _render_row(model: str, row: Mapping[str, Any], names: Sequence[str]) -> str:
    scores = [format_score(row["metrics"][name]) for name in names]
    size, speed = (f"{row[key]:.2f}" if key in row else "" for key in ("megabytes", "milliseconds"))
    return f"| {' | '.join([model, *scores, size, speed])} |"


def format_score(value: Mapping[str, Any]) -> str:
    """A mean over seeds, x 100, with its standard deviation where there are several."""
    return f"{100 * value['mean']:.2f}" + ("" if value["sd"] is None else f" ± {100 * value['sd']:.2f}")
