"""Models as artifacts: a task with its tokenizer, and the history of its training."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from components.artifacts.standard import Model
from keras_bert.options.training import Precision

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

HISTORY_FILE = "history.jsonl"
# The head at its optimum on the vectors of an encoder before fine-tuning, beside the fine-tuned model.
FROZEN_HEAD_FILE = "frozen_head.npz"


def write_model(output: Model, task: "Task", history: Sequence[Mapping[str, float]], precision: Precision) -> None:
    """Writes a task for `keras_bert.load`, and `history.jsonl`, whose last entry becomes the artifact's counts."""
    from keras_bert.training.history import write_history

    output.path.mkdir(exist_ok=True)
    task.save(output.path)
    write_history([{**entry, "precision": precision} for entry in history], output.file(HISTORY_FILE))
    output.counts = {"parameters": task.model.count_params(), "precision": precision, **history[-1]}


def read_model(artifact: Model) -> "Task":
    """The task that a model artifact holds."""
    from keras_bert.tasks.registry import load

    return load(artifact.path)
