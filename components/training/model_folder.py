"""The files of a Model artifact: the model, its tokenizer and what it was trained for."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts.model import Model
from components.dsl.artifact import Artifact
from keras_bert.folders import MODEL_FILE, TASK_FILE

if TYPE_CHECKING:
    import keras

TOKENIZER_FILES = ("vocab.txt", "tokenizer.json")


def write_model(
    output: Model,
    model: "keras.Model",
    tokenizer_of: Artifact,
    task: Mapping[str, Any],
    history: list[dict[str, float]],
) -> None:
    """Writes `model.keras`, the tokenizer's files, `task.json` and `history.jsonl`.

    The last entry of the history becomes the counts of the artifact.

    Args:
        output: an empty artifact.
        model: the trained model.
        tokenizer_of: the artifact whose tokenizer the model was trained with.
        task: what the model answers: its name, labels and longest input.
        history: what `Trainer.fit` returned.
    """
    from keras_bert.models.saving import save_model
    from keras_bert.training.history import write_history

    save_model(model, output.file(MODEL_FILE))
    copy_tokenizer(tokenizer_of, output.path)
    output.file(TASK_FILE).write_text(json.dumps(task, indent=1, sort_keys=True) + "\n")
    write_history(history, output.file("history.jsonl"))
    output.counts = {"parameters": model.count_params(), **history[-1]}


def read_model(artifact: Model) -> tuple["keras.Model", dict[str, Any]]:
    """The model and its `task.json`."""
    from keras_bert.models.saving import load_model

    return load_model(artifact.file(MODEL_FILE)), read_task(artifact)


def read_task(artifact: Model) -> dict[str, Any]:
    """What the model was trained for."""
    task: dict[str, Any] = json.loads(artifact.file(TASK_FILE).read_text())
    return task


def copy_tokenizer(source: Artifact, folder: Path) -> None:
    """Copies the vocabulary and the tokenizer's settings."""
    for name in TOKENIZER_FILES:
        shutil.copyfile(source.file(name), folder / name)
