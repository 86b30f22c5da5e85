"""The model card of a pushed folder: what the model is, how good, how big and how fast."""

import json
from pathlib import Path
from typing import Any


def write_model_card(folder: Path, name: str, version: int) -> None:
    """Writes `README.md` from the `metrics.json`, `labels.json` and `recipe.json` of a folder."""
    metrics, labels, recipe = (
        json.loads((folder / file).read_text()) for file in ("metrics.json", "labels.json", "recipe.json")
    )
    (folder / "README.md").write_text(render_model_card(name, version, metrics, labels, recipe))


def render_model_card(
    name: str, version: int, metrics: dict[str, Any], labels: list[str], recipe: dict[str, Any]
) -> str:
    """The card as Markdown (sections after Mitchell et al. 2019, "Model Cards for Model Reporting")."""
    table = "\n".join(_render_row(model, row) for model, row in metrics["models"].items())
    return f"""# {name}, version {version}

A BERT classifier of texts into {len(labels)} labels: {", ".join(labels)}.

## Files

- `model.tflite`: int8 weights and activations, for LiteRT; signatures for {recipe["model.tflite"]["lengths"]} tokens
- `model.onnx`: float32, for ONNX Runtime; any batch and length up to {max(recipe["model.tflite"]["lengths"])} tokens
- `vocab.txt`, `tokenizer.json`, `labels.json`: what turns text into ids, and logits into labels
- `metrics.json`: all figures, with confusion matrices; `recipe.json`: how the files were made

## Inputs and output

`token_ids`, `segment_ids`, `padding_mask`: int32 (batch, length). `logits`: float32 (batch, {len(labels)}).

## Quality

On {metrics["test_rows"]} test rows that nothing was trained or tuned on. Milliseconds are the median for one
passage on one thread of the machine that made the files.

| model | accuracy | macro F1 | MB | ms |
| --- | --- | --- | --- | --- |
{table}

## Limits

The model knows what its training rows showed it. Rows unlike them get a label all the same, and the score of a
label is no calibrated probability.
"""


def _render_row(model: str, row: dict[str, Any]) -> str:
    size, speed = (f"{row[key]:.2f}" if key in row else "" for key in ("megabytes", "milliseconds"))
    return f"| {model} | {100 * row['accuracy']:.2f} | {row['macro_f1']:.4f} | {size} | {speed} |"
