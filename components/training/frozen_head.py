"""The head at its optimum on the vectors of an encoder before fine-tuning, beside the fine-tuned model."""

from typing import TYPE_CHECKING, Any

from components.artifacts.standard import Model
from components.training.model_folder import read_model

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task
    from keras_bert.training.new_head import FittedHead

FROZEN_HEAD_FILE = "frozen_head.npz"


def write_frozen_head(output: Model, fitted: "FittedHead") -> None:
    """Writes the weights of a task outside of its encoder, by path."""
    import numpy as np

    arrays: dict[str, Any] = {**fitted.weights}
    np.savez(output.file(FROZEN_HEAD_FILE), **arrays)


def open_frozen(checkpoint: Model, teacher: Model) -> "Task":
    """The checkpoint that a teacher was trained from, with the head that was fitted to it before the training."""
    import numpy as np

    task = read_model(teacher).rebuilt(read_model(checkpoint).encoder)
    with np.load(teacher.file(FROZEN_HEAD_FILE)) as arrays:
        weights = {weight.path: weight for weight in task.model.weights}
        for path in arrays:
            weights[path].assign(arrays[path])
    return task
