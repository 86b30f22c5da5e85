"""Trained models, and their files for other runtimes."""

from components.dsl.artifact import Artifact


class Model(Artifact):
    """`model.keras`, the tokenizer's files beside it, and `task.json` (what the model was trained for)."""


class EdgeModel(Artifact):
    """Files for runtimes, `task.json`, the tokenizer's files, `golden.json` and `export.json`.

    The settings choose among `model.tflite` (quantized), `model_float32.tflite`, the folder `transformers_js` and
    others; `labels.json` exists if the task has labels.
    """
