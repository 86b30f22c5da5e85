"""All tasks by name, and the way back from a saved folder."""

import json
import os
from pathlib import Path

from keras_bert.folders import MODEL_FILE, TASK_FILE
from keras_bert.saving import load_model
from keras_bert.tasks.base import Task
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.pretraining import Pretraining
from keras_bert.tasks.question_answering import QuestionAnswering
from keras_bert.tasks.regression import Regression
from keras_bert.tasks.token_classification import TokenClassification

TASKS: dict[str, type[Task]] = {
    task.name: task
    for task in (Classification, Embedding, Pretraining, QuestionAnswering, Regression, TokenClassification)
}


def load(folder: str | os.PathLike[str]) -> Task:
    """Reads what `Task.save`, or a training step of the pipeline, wrote.

    Raises:
        FileNotFoundError: there is no such folder, or it lacks one of the files.
        ValueError: `task.json` names no known task.
    """
    # Reading text into tokens is TensorFlow's work; all else of a task runs without it.
    from keras_bert.tokenizer import Tokenizer

    folder = Path(folder)
    for name in (MODEL_FILE, TASK_FILE):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder} is no saved task: it has no {name}")
    settings = json.loads((folder / TASK_FILE).read_text())
    name = settings.pop("task", None)
    if name not in TASKS:
        raise ValueError(f"{folder / TASK_FILE}: task must be one of {sorted(TASKS)}, got {name!r}")
    return TASKS[name].from_settings(load_model(folder / MODEL_FILE), Tokenizer.load(folder), settings)
